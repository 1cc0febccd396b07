// What `reproduce` writes besides its table: tidy rows, a picture and a page for each figure of the papers.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace reproduced_pages_test {

using namespace natten_sim::test;
namespace fs = std::filesystem;

const std::string kRoot = natten_sim::test::kSourceDir;

std::set<std::string> files_of(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

void check_tidy(const std::string& work) {
  const Json result = result_of("reproduce " + work);
  for (const Json& row : result["rows"]) {
    INFO(row.dump());
    CHECK(row["work"] == work);
    CHECK_FALSE(row["source"].get<std::string>().empty());
    CHECK_FALSE(row["figure"].get<std::string>().empty());
    for (const char* key : {"published", "ours", "measured", "deviation_relative", "axis_value"})
      CHECK((row[key].is_number() || row[key].is_null()));
    CHECK(row["axis"].get<std::string>().empty() == row["axis_value"].is_null());
    CHECK(row["measured_on"].get<std::string>().empty() == row["measured"].is_null());
    if (row["published"].is_null() || row["ours"].is_null() || row["published"] == 0) {
      CHECK(row["deviation_relative"].is_null());
    } else {
      const double published = row["published"], ours = row["ours"];
      CHECK(row["deviation_relative"].get<double>() == Approx(ours / published - 1).margin(1e-12));
    }
  }
}

TEST_CASE("rows of reproduce are tidy: numbers are numbers, and the relative deviation follows from them") {
  for (const char* work : {"gna", "tiled-attention"}) check_tidy(work);
}

TEST_CASE("rows of the Sawtooth paper are tidy", "[.nightly][long]") { check_tidy("sawtooth"); }

TEST_CASE("reproduce --csv is the same table: a header and a line a number") {
  const Run done = run("reproduce gna --csv");
  REQUIRE(done.exit_code == 0);
  CHECK(done.out.starts_with(
      "work,figure,item,series,axis,axis_value,unit,published,ours,measured,measured_on,recording,"
      "deviation_relative,deviation,tolerance,tolerance_of,verdict,fitted,published_text,ours_text,source,"
      "note\n"));
  CHECK(done.out.find("\ngna,figure 4.5,\"visited of 128 tiles, stride 8\",,stride,8") != std::string::npos);
  CHECK(static_cast<std::size_t>(std::count(done.out.begin(), done.out.end(), '\n')) ==
        1 + result_of("reproduce gna")["rows"].size());
}

TEST_CASE("one figure of a work, by its name or by how that ends") {
  for (const std::string name : {"'figure 4.5'", "4.5"}) {
    const Json rows = result_of("reproduce gna --figure " + name)["rows"];
    CHECK(rows.size() == 8);  // strides 1 to 8
    for (const Json& row : rows) CHECK(row["figure"] == "figure 4.5");
  }
  CHECK(result_of("reproduce GNA --figure 'Figure 4.5'") == result_of("reproduce gna --figure 'figure 4.5'"));
  check_refused("reproduce gna --figure 4.9", {"figure", "4.9", "figure 4.5"});
  check_refused("reproduce gnaa", {"did you mean 'gna'?"});
}

/// The figures of the rows, by work, are those that a figure which is none is answered with.
void check_figures(const Json& rows) {
  std::map<std::string, std::vector<std::string>> found;
  for (const Json& row : rows) {
    std::vector<std::string>& figures = found[row["work"]];
    if (std::find(figures.begin(), figures.end(), row["figure"]) == figures.end())
      figures.push_back(row["figure"]);
    // An axis has a name: that of the unit.
    if (row["published"].is_number() || row["ours"].is_number() || row["measured"].is_number())
      CHECK(row["unit"] != "");
  }
  for (const auto& [work, figures] : found) {
    std::string names;
    for (const std::string& figure : figures) names += (names.empty() ? "accepted: '" : ", '") + figure + "'";
    check_refused("reproduce " + work + " --figure none", {names});
  }
}

TEST_CASE("a work knows its figures, and a figure of all works is found without the others") {
  for (const char* work : {"gna", "flash-attention", "tiled-attention"})
    check_figures(result_of(std::string("reproduce ") + work)["rows"]);
  const Json gna = result_of("reproduce all --figure 4.5");
  CHECK(!gna["rows"].empty());
  for (const Json& row : gna["rows"]) CHECK(row["work"] == "gna");
  check_refused("reproduce all --figure 4.9", {"figure", "4.9"});
}

TEST_CASE("every work knows its figures, and a figure that two have is found in both", "[.nightly][long]") {
  check_figures(result_of("reproduce all")["rows"]);
  const Json third = result_of("reproduce all --figure 'table 3'");
  std::vector<std::string> works;  // both have it
  for (const Json& row : third["rows"]) {
    if (works.empty() || works.back() != row["work"]) works.push_back(row["work"]);
  }
  CHECK(works == std::vector<std::string>{"sawtooth", "msda"});
}

TEST_CASE("a picture of a figure has published and ours, in the colours of both schemes") {
  const std::string path = scratch_folder() + "/figure.svg";
  REQUIRE(run("reproduce gna --figure 'table 4.4' --picture '" + path + "'").exit_code == 0);
  const std::string svg = read_text(path);
  for (const char* part :
       {">published<", ">ours<", "gna: table 4.4", "stride 16x16", "prefers-color-scheme"}) {
    INFO(part);
    CHECK(svg.find(part) != std::string::npos);
  }
}

TEST_CASE("a page of all figures holds their pictures and loads nothing") {
  const std::string path = scratch_folder() + "/page.html";
  REQUIRE(run("reproduce gna --html '" + path + "'").exit_code == 0);
  const std::string html = read_text(path);
  for (const char* part : {"src=", "href=", "@import", "url("}) {
    INFO(part);
    CHECK(html.find(part) == std::string::npos);
  }
  std::size_t pictures = 0;
  for (std::size_t at = html.find("<figure>"); at != std::string::npos; at = html.find("<figure>", at + 1)) ++pictures;
  CHECK(pictures == 5);  // as many as figures
}

/// Files that `reproduce` writes of this work: an index, and for each name a page that shows its picture.
void check_pages(const std::string& work, const std::vector<std::string>& names) {
  const std::string folder = scratch_folder() + "/pages-" + work;
  REQUIRE(run("reproduce " + work + " --quiet --pages '" + folder + "'").exit_code == 0);
  const std::string index = read_text(folder + "/index.md");
  for (const std::string& name : names) {
    INFO(name);
    CHECK(index.find("(" + name + ".md)") != std::string::npos);
    CHECK(read_text(folder + "/" + name + ".md").find("](" + name + ".svg)") != std::string::npos);
    CHECK(read_text(folder + "/" + name + ".svg").starts_with("<svg "));
  }
  for (const std::string& name : files_of(folder))
    if (name != "index.md") CHECK(index.find("(" + name.substr(0, name.rfind('.')) + ".md)") != std::string::npos);
}

TEST_CASE("every figure and table of a work that has numbers has a page with its picture") {
  // Figure 4.6 of the dissertation is photographs.
  check_pages("gna", {"gna-figure-4.5", "gna-figure-4.7", "gna-table-4.2", "gna-table-4.3", "gna-table-4.4"});
  check_pages("tiled-attention", {"tiled-attention-figure-4"});
}

TEST_CASE("every figure and table of all works has a page", "[.nightly][long]") {
  std::vector<std::string> names = {"gna-figure-4.5", "dash-figure-8", "dash-figure-9", "dash-table-1", "sawtooth-table-3"};
  for (int figure = 5; figure <= 12; ++figure) names.push_back("sawtooth-figure-" + std::to_string(figure));
  for (int table = 1; table <= 13; ++table) names.push_back("msda-table-" + std::to_string(table));
  check_pages("all", names);
}

TEST_CASE("what was measured beside the figures is what the script makes of the recordings",
          "[.nightly][long]") {
  CHECK(shell_exit_code("python3 '" + kRoot + "/scripts/store_measured_beside.py' --check") == 0);
}

TEST_CASE("what was measured beside the figures is what the recordings give") {
  // One of them by hand: this project's backward kernel, full mask, head dim 64, 1,024 tokens.
  const Json recording = Json::parse(read_text(kRoot + "/data/recordings/nvidia-h200-backward.json"));
  std::map<std::string, double> times;
  for (const Json& row : recording["rows"]) {
    const Json& point = row["point"];
    if (point["head_dim"] == 64 && point["tokens"] == 1024 && point["mask"] == "full" &&
        point["mode"] == "deterministic")
      times[point["algorithm"]] = row["time_ms"]["median"];
  }
  const Json beside = Json::parse(read_text(kRoot + "/data/measured-beside.json"));
  std::size_t found = 0;
  for (const Json& number : beside["numbers"]) {
    if (number["item"] != "shift over ascending, head dim 64, 1024 tokens") continue;
    ++found;
    CHECK(number["value"].get<double>() == Approx(times.at("ascending") / times.at("shift")).epsilon(1e-5));
  }
  CHECK(found == 1);
}

}  // namespace reproduced_pages_test

// A view of recordings (row_counts_view.cpp), a table of list (dtypes_table.cpp) and a picture of reuse
// (operands_picture.cpp), one file each, are in help, completion, errors and hints, and run.
#include <filesystem>
#include <string>

#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/reuse_picture.hpp>
#include <natten_sim/report/validation_views.hpp>

#include "catch.hpp"
#include "golden/program.hpp"
#include "places.hpp"

namespace report_entries_test {

using natten_sim::test::Json;
using natten_sim::test::result_of;
using natten_sim::test::run;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Help without its line breaks.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!line.empty() && line.back() != ' ')) line += blank ? ' ' : c;
  }
  return line;
}

void check_completed(const std::string& name) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    INFO(shell);
    CHECK(has(run("completion " + shell).out, name));
  }
}

const std::string kFolder = std::string(natten_sim::test::kSourceDir) + "/data/recordings";
const std::string kStream = "validate stream --recorded " + kFolder;

TEST_CASE("a view from one file is completed, at its place, and shows recordings") {
  check_completed("heat-map sensitivity decisions row-counts misses");
  const auto shown = run(kStream + " --view row-counts");
  CHECK(shown.exit_code == 0);
  const Json recording = Json::parse(natten_sim::test::read_text(kFolder + "/nvidia-h200-stream.json"));
  // On an H100 and on an H200.
  const std::string line = "stream has " + std::to_string(recording["rows"].size()) + " points\n";
  CHECK(shown.out == line + line);
  CHECK(has(run(kStream + " --view row-counts --csv").out, "suite,points\n"));
  const auto misspelt = run(kStream + " --view row-count");
  CHECK(misspelt.exit_code == 2);
  CHECK(has(misspelt.err, "did you mean 'row-counts'?"));
  const auto undrawn = run(kStream + " --view row-counts --picture row-counts.svg");
  CHECK(undrawn.exit_code == 2);
  CHECK(has(undrawn.err, "heat-map, misses, throughput, active-sms"));  // those with a picture
}

TEST_CASE(
    "a table from one file is in list's help, completion and errors, and prints as text, CSV and JSON") {
  check_completed("presets backends dtypes devices kernels coverage transfers releases");
  CHECK(has(one_line(run("--help").out), "List the presets, backends, dtypes, devices, kernels, coverage, transfers, releases or operators"));
  CHECK(has(run("list").out, "dtypes ("));
  CHECK(has(run("list dtypes").out, "bf16: "));
  CHECK(has(run("list dtypes --csv").out, "name,backends\n"));
  const Json rows = result_of("list dtypes")["dtypes"];
  CHECK(rows.size() >= 2);
  CHECK(has(run("list dtype").err, "did you mean 'dtypes'?"));
}

TEST_CASE(
    "a picture from one file is in reuse's help and completion, is drawn, and gives the rows of --csv") {
  CHECK(
      has(one_line(run("reuse --help").out), "curve: misses over capacities; operands: sectors by operand; sweep: "));
  check_completed("histogram curve operands sweep");
  // One Q tile of 128 rows with 128 bytes each: all sectors are read once.
  CHECK(run("reuse -i 128 -d 64 --tile 128 --picture-kind operands --csv").out == "q,k,v,o\n512,512,512,512\n");
  const auto file =
      std::filesystem::temp_directory_path() / ("operands-" + std::to_string(::getpid()) + ".svg");
  CHECK(run("reuse -i 128 --picture-kind operands --picture " + file.string()).exit_code == 0);
  CHECK(has(natten_sim::test::read_text(file.string()), "Sectors of q, k, v and o"));
  std::filesystem::remove(file);
  CHECK(has(run("reuse --sweep seqlen=1024:2048:1024 --picture-kind operands --csv").err, "sweep, with --sweep"));
  CHECK(
      has(run("reuse -i 128 --picture-kind sweep --csv").err, "histogram or curve or operands, without --sweep"));
}

TEST_CASE("a taken name and a name that is none are refused by every registry") {
  using namespace natten_sim;
  for (const char* name : {"misses", "row-counts", "", "-x", "Misses", "two words"}) {
    INFO(name);
    CHECK_THROWS_AS(report::add_view_kind({.name = name}), InvalidParameter);
  }
  CHECK_THROWS_AS(report::add_catalog_table({.name = "devices"}), InvalidParameter);
  CHECK_THROWS_AS(report::add_reuse_picture({.name = "sweep"}), InvalidParameter);
}

}  // namespace report_entries_test

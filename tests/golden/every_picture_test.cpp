// Every picture of every subcommand is drawn, is a document and a chart that can be read, and states its units.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "cli/command.hpp"
#include "commands.hpp"
#include "program.hpp"
#include "shown_answers.hpp"
#include "unit/report/draw_document.hpp"

namespace every_picture_test {

using namespace natten_sim::test;
using natten_sim::cli::Command;
using natten_sim::cli::OptionSpec;

const OptionSpec* option(const Command& command, const std::string& name) {
  const auto found = std::find_if(command.options.begin(), command.options.end(),
                                  [&](const OptionSpec& spec) { return spec.is_called(name); });
  return found == command.options.end() ? nullptr : &*found;
}

/// Names of the kinds; of one picture an empty one.
std::vector<std::string> kinds_of(const Command& command) {
  const OptionSpec* const kinds = option(command, "picture-kind");
  if (kinds == nullptr) return {""};
  std::istringstream words(kinds->choices);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Titles of axes: muted text of full size that is not the subtitle, which follows the bold title.
std::set<std::string> axis_titles(const std::string& svg) {
  std::set<std::string> titles;
  bool after_bold = false;
  for (const Element& each : read_xml(svg)) {
    if (each.name != "text") continue;
    const auto attribute = [&](const char* name) {
      const auto found = each.attributes.find(name);
      return found == each.attributes.end() ? std::string() : found->second;
    };
    const bool muted = attribute("class") == "ns-f-muted" && attribute("font-size").empty();
    if (muted && !after_bold && (attribute("text-anchor") == "middle" || attribute("x") == "16")) titles.insert(each.text);
    after_bold = attribute("font-weight") == "bold";
  }
  return titles;
}

/// Whether an axis says in what it counts: a unit in brackets, things that are counted, a ratio, or bytes, which stand at
/// its ticks.
bool states_unit(const std::string& title) {
  static const std::regex unit("\\((ms|us|s|%|times|tokens)\\)$");
  static const std::set<std::string> others = {
      "rows",     "updates of a row", "sectors",        "miss sectors", "tiles", "tokens", "stride",
      "capacity", "stack distance",   "measured / predicted", "bytes read from DRAM",
      "DRAM reads over the compulsory ones", "TFLOP/s", "FLOP per byte of DRAM traffic", "time, in the unit of the costs"};
  return std::regex_search(title, unit) || others.contains(title);
}

TEST_CASE("every kind of picture of every subcommand is a well-formed document without a number that is none") {
  int drawn = 0;
  for (const Command& command : natten_sim::cli::commands()) {
    if (option(command, "picture") == nullptr) continue;
    for (const std::string& kind : kinds_of(command)) {
      const std::string line = shown_answer(command.name, kind);
      INFO(command.name << " " << kind << ": shown_answers.hpp has a question of it");
      REQUIRE_FALSE(line.empty());
      const std::string path = scratch_folder() + "/picture.svg";
      const Run done = run(line + (kind.empty() ? "" : " --picture-kind " + kind) + " --picture '" + path + "'");
      INFO(done.err);
      REQUIRE(done.exit_code == 0);
      const std::string svg = read_text(path);
      CHECK_NOTHROW(read_xml(svg));
      for (const char* bad : {">nan", ">inf", "\"nan", "\"inf"}) CHECK(svg.find(bad) == std::string::npos);
      CHECK(read_xml(svg).at(1).text.size() > 3);  // a title
      CHECK(done.out.size() > 20);                 // the answer is printed too
      ++drawn;
    }
  }
  CHECK(drawn >= 22);
}

TEST_CASE("the axes of every chart say in which unit they count") {
  int charts = 0;
  for (const Command& command : natten_sim::cli::commands()) {
    if (option(command, "picture") == nullptr || command.name == "sweep") continue;  // a sweep names columns
    for (const std::string& kind : kinds_of(command)) {
      const std::string path = scratch_folder() + "/chart.svg";
      const Run done = run(shown_answer(command.name, kind) + (kind.empty() ? "" : " --picture-kind " + kind) +
                           " --picture '" + path + "'");
      INFO(command.name << " " << kind << " " << done.err);
      REQUIRE(done.exit_code == 0);
      const std::set<std::string> titles = axis_titles(read_text(path));
      for (const std::string& title : titles) {
        INFO(title);
        CHECK(states_unit(title));
      }
      charts += titles.empty() ? 0 : 1;  // tile maps have no axes
    }
  }
  CHECK(charts >= 15);
}

TEST_CASE("a kind that an answer does not have is refused, with what it needs or what there is") {
  check_refused("msda --workload B1_640_d256_L4 --phase forward --picture-kind histogram --picture x.svg",
                {"histogram", "a backward pass"});
  check_refused("search -i 24 24 --picture-kind front --picture x.svg", {"front", "an answer by time"});
  check_refused("mask --mask causal -i 512 --picture-kind no-such --picture x.svg", {"no-such", "tiles", "blocks"});
  check_refused("advise -i 24 24 --picture-kind choices", {"--picture-kind", "--picture"});
}

TEST_CASE("the parts of a plan's step are as long as its answer says") {
  const std::string path = scratch_folder() + "/step.svg";
  const Json result = result_of("plan --preset hunyuan-video --device h100 --gpus 8");
  REQUIRE(run("plan --preset hunyuan-video --device h100 --gpus 8 --picture '" + path + "'").exit_code == 0);
  std::map<std::string, double> steps;  // each part tells its time under the pointer
  for (const Element& each : read_xml(read_text(path))) {
    const std::size_t colon = each.text.find(": ");
    if (each.name != "title" || colon == std::string::npos) continue;
    const std::string part = each.text.substr(colon + 2);
    steps[each.text.substr(0, colon)] += std::stod(part) * (part.ends_with("k") ? 1000 : 1);
  }
  REQUIRE(steps.size() == 2);
  for (const auto& [item, step] : steps)  // three parts of three digits each
    CHECK(step == Approx(result[item]["step_ms"].get<double>()).epsilon(0.005));
}

TEST_CASE("at the width of a column no text leaves the picture") {
  for (const std::string& line : {shown_answer("search") + " --picture-kind candidates", shown_answer("advise"),
                                  shown_answer("advise") + " --picture-kind choices", shown_answer("plan")}) {
    const std::string path = scratch_folder() + "/column.svg";
    REQUIRE(run(line + " --picture '" + path + "' --picture-width ieee-column").exit_code == 0);
    const std::string svg = read_text(path);
    INFO(line);
    for (const Label& label : labels_of(svg)) {
      INFO(label.text);
      CHECK(label.box.right() <= 378 + 6);  // 252 points of 8 point text; widths of text are estimates
    }
  }
}

TEST_CASE("a mask's picture has a tile for each block that its answer counts") {
  const std::string path = scratch_folder() + "/mask.svg", line = "mask --mask 'document:512,1536&causal' -n 1 -d 64";
  const Json result = result_of(line);
  REQUIRE(run(line + " --picture '" + path + "'").exit_code == 0);
  const std::string svg = read_text(path);
  // 4 Q blocks of the first document see 1 to 4 blocks, 12 of the second 1 to 12; those on the diagonal are cut.
  CHECK(result["visited_tiles"] == 10 + 78);
  CHECK(result["partial_tiles"] == 16);
  CHECK(svg.find("blocks of 128x128 tokens") != std::string::npos);
}

}  // namespace every_picture_test

// Help as a new user meets it: it fits the terminal, begins with examples, is coloured where people read it,
// and the manual says the same.
#include <algorithm>
#include <sstream>

#include "catch.hpp"
#include "program.hpp"

namespace help_test {

using namespace natten_sim::test;

const std::vector<std::string> kSubcommands = {
    "count",     "search",     "schedule", "reuse",  "atomics",   "msda",      "advise",
    "plan",      "sweep",      "serve",    "list",   "calibrate", "reproduce", "validate",
    "classroom", "completion", "man",      "schema", "diff",      "explain",   "mask", "kernel", "cite", "trust"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// With COLUMNS set for the one run.
std::string in_columns(int columns, const std::string& line) {
  const Run done = run_with({"COLUMNS=" + std::to_string(columns)}, line);
  REQUIRE(done.exit_code == 0);
  return done.out;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("help fits the columns that it has, but for a word that is longer") {
  for (const int columns : {60, 80, 132}) {
    for (const std::string& subcommand : kSubcommands) {
      for (const char* detail : {" -h", " --help"}) {
        std::string line;
        for (const std::string& each : lines_of(in_columns(columns, subcommand + detail))) {
          INFO(subcommand << detail << ": " << each);
          const std::size_t text = each.find_first_not_of(' ');
          if (text == std::string::npos) continue;
          const bool one_word = each.find(' ', text) == std::string::npos;
          const bool quoted = has(each, "'");  // a request of serve's example cannot be broken
          if (!one_word && !quoted) CHECK(each.size() <= static_cast<std::size_t>(columns));
        }
      }
    }
  }
}

TEST_CASE("-h is shorter than --help, both begin with examples") {
  for (const std::string& subcommand : kSubcommands) {
    INFO(subcommand);
    const std::string brief = run(subcommand + " -h").out, full = run(subcommand + " --help").out;
    CHECK(brief.size() < full.size());
    CHECK(has(brief, "--help"));
    for (const std::string& page : {brief, full}) {
      REQUIRE(has(page, "Examples:"));
      CHECK(page.find("Examples:") < page.find("\n  --"));
    }
  }
  CHECK(has(run("count --help").out, "\nTiles:\n"));
  CHECK(has(run("count --help").out, "\nBackward pass:\n"));
  CHECK_FALSE(has(run("count -h").out, "--preset-file"));
  CHECK(run("count -w 3 --no-such-option --help").exit_code == 0);
  check_refused("cuont --help", {"unknown subcommand", "did you mean 'count'?"});
}

/// Examples that take half a second or more.
const std::vector<std::string> kLongExamples = {
    "advise --preset hunyuan-video --device h200",
    "plan --preset hunyuan-video --device h100 --gpus 8",
    "search -i 256 256 -n 24 -d 128 --device h200 --kernel hopper-fna gna",
    "advise -i 256 256 -n 24 -d 128 --speedup 4",
    "msda --workload B2_1536x2048",
    "msda --workload B4_800x1333_d256_L4 --order all",
    "search --preset flux1-dev-4k --sparsity 0.90:0.91 --phase both --device h100 b200"};

bool is_long(const std::string& line) {
  return std::any_of(kLongExamples.begin(), kLongExamples.end(),
                     [&](const std::string& part) { return has(line, part); });
}

/// Runs the examples that are, or are not, long; returns how many.
int check_examples(bool those_that_are_long) {
  // Files of the user or of an installed program, a GPU, or minutes.
  const std::vector<std::string> elsewhere = {"FILE",       "index.npy", "runs.csv",   "costs.json",
                                              "data/",      "validate",  "order.json", "before.json",
                                              "a/",         "|",         "source",     ">",
                                              "misses.svg", "jsonl",     "reproduce",  "--fidelity timed",
                                              "classroom",  "profile.",  "mine.json",  "measure.py"};
  int taken = 0;
  for (const std::string& subcommand : kSubcommands) {
    bool examples = false;
    for (const std::string& line : lines_of(in_columns(1000, subcommand + " --help"))) {
      if (line == "Examples:") examples = true;
      if (line.empty()) examples = false;
      if (!examples || !line.starts_with("  natten-sim ")) continue;
      if (std::any_of(elsewhere.begin(), elsewhere.end(),
                      [&](const std::string& part) { return has(line, part); }))
        continue;
      if (is_long(line) != those_that_are_long) continue;
      INFO(line);
      const Run done = run(line.substr(std::string("  natten-sim ").size()));
      CHECK(done.exit_code == 0);
      CHECK_FALSE(done.out.empty());
      ++taken;
    }
  }
  return taken;
}

TEST_CASE("every example of help is a line that the program takes") { CHECK(check_examples(false) >= 15); }

TEST_CASE("examples of help that take long are lines that the program takes", "[.nightly][long]") {
  CHECK(check_examples(true) == static_cast<int>(kLongExamples.size()));
}

TEST_CASE("colours are there when asked for, and nowhere else") {
  const std::string escape = "\033[";
  for (const char* line : {"count --help", "atomics", "advise -i 4096 --device h200"}) {
    INFO(line);
    CHECK_FALSE(has(run(line).out, escape));  // no terminal
    CHECK(has(run(std::string(line) + " --color always").out, escape));
    CHECK(has(run(std::string(line) + " --color=always").out, escape));
    CHECK_FALSE(has(run(std::string(line) + " --color never").out, escape));
  }
  CHECK_FALSE(has(run("atomics --color always --json").out, escape));
  CHECK_FALSE(has(run("atomics --color always --csv").out, escape));
  CHECK(has(run("count -i 3 -w x --color always").err, escape));
  CHECK_FALSE(has(run("count -i 3 -w x").err, escape));
  check_refused("atomics --color sometimes", {"color", "sometimes", "auto always"});
}

TEST_CASE("a page of the manual holds every option that --help has") {
  const std::string folder = scratch_folder();
  REQUIRE(run("man --folder '" + folder + "'").exit_code == 0);
  for (const std::string& subcommand : kSubcommands) {
    INFO(subcommand);
    const std::string page = read_text(folder + "/natten-sim-" + subcommand + ".1");
    CHECK(page == run("man " + subcommand).out);
    CHECK(has(page, ".SH NAME\nnatten\\-sim\\-" + subcommand));
    CHECK(has(read_text(folder + "/natten-sim.1"), "natten\\-sim\\-" + subcommand));
    int options = 0;
    for (const std::string& line : lines_of(run(subcommand + " --help").out)) {
      const std::size_t dashes = line.find("--");
      if (!line.starts_with("  -") || dashes > 6 || has(line, "  --help ")) continue;
      std::string flag = line.substr(dashes, line.find_first_of(" ,", dashes) - dashes);
      for (std::size_t at = 0; (at = flag.find('-', at)) != std::string::npos; at += 2) flag.insert(at, "\\");
      INFO(line);
      CHECK(has(page, flag));
      ++options;
    }
    CHECK(options >= 1);
    for (const std::string& line : lines_of(page)) CHECK_FALSE(line.starts_with("'"));
  }
  check_refused("man cuont", {"subcommand", "did you mean 'count'?"});
}

TEST_CASE("list alone prints the names of everything, in every format") {
  const std::string text = run("list").out;
  for (const char* name : {"hunyuan-video", "hopper-fna", "h200", "fa2"}) CHECK(has(text, name));
  const Json names = result_of("list");
  for (const char* list : {"presets", "backends", "devices", "kernels"}) {
    INFO(list);
    const Json entries = result_of(std::string("list ") + list).at(list);
    REQUIRE(names.at(list).size() == entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) CHECK(names.at(list)[i] == entries[i].at("name"));
  }
  CHECK(run("list --csv").out.starts_with("list,name,source\npresets,"));
}

}  // namespace help_test

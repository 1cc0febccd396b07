// Every option of every subcommand that takes a file or a folder, with places where there can be none: the
// rows of
// --help are walked, so that a new option is tried too.
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "program.hpp"

namespace places_test {

using namespace natten_sim::test;

/// Questions that are answered quickly. A subcommand without one is asked with its name alone.
const std::map<std::string, std::string> kQuestions = {
    {"count", "-i 64 -w 16 --q-tile 8 --kv-tile 4"},
    {"search", "-i 64 -w 16"},
    {"schedule", "--q-tiles 4 --kv-tiles 4 --algorithm spt"},
    {"reuse", "-i 512"},
    {"atomics", "--updates 100"},
    {"msda", "--workload deformable-detr"},
    {"reproduce", "gna --figure 4.5"},
    {"advise", "-i 64 64"},
    {"plan", "-i 64 64 -w 8 8 --device h200"},
    {"mask", "-i 64"},
    {"explain", "/dev/null"},
    {"sweep", "count -i 64 --q-tile 8 --kv-tile 4 --over window=8,16"},
    {"list", "presets"},
    {"diff", "a b"},
};

std::set<std::string> found_in(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex each(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), each), end; at != end; ++at)
    found.insert((*at)[1].str());
  return found;
}

/// The options of a subcommand that take a file or a folder.
std::set<std::string> options_of_places(const std::string& command) {
  const std::string help = run(command + " --help").out;
  std::set<std::string> taking = found_in(help, "\n +(?:-[a-z], )?(--[a-z-]+) (?:FILE|DIR)");
  if (command == "schedule") taking.insert({"--costs", "--mask"});
  return taking;
}

std::string question_of(const std::string& command) {
  const auto question = kQuestions.find(command);
  return command + " " + (question == kQuestions.end() ? "" : question->second);
}

TEST_CASE("no option takes a path with a NUL byte: no file of the name before it is read or written") {
  const std::string folder = scratch_folder(), config = scratch_folder() + "/nul.toml";
  std::size_t options = 0;
  for (const std::string& command : found_in(run("--help").out, "\n  ([a-z]+)  ")) {
    if (command == "sweep") continue;  // has no options from files
    for (const std::string& option : options_of_places(command)) {
      const std::string key = option.substr(2);
      const std::string ending = key.find("table") == std::string::npos ? ".svg" : ".md";
      write_text(config, "[" + command + "]\n" + key + " = \"" + folder + "/x\\u0000y" + ending + "\"\n");
      const auto done = run(question_of(command) + " --config " + config);
      INFO(command << " " << key << "\n" << done.err);
      const bool refused = done.exit_code == 2 || (command == "validate" && done.exit_code == 4);  // no GPU
      CHECK(refused);
      ++options;
    }
  }
  CHECK(options >= 60);
  CHECK(std::filesystem::is_empty(folder));
  write_text(config, "preset-file = \"" + folder + "/x\\u0000y\"\n");
  check_refused("list presets --config " + config, {"/x\xef\xbf\xbdy", "a path without NUL bytes"});
}

/// Every option of every subcommand that takes a file or folder refuses these.
void check_places_refused(const std::vector<std::string>& places) {
  std::size_t options = 0;
  for (const std::string& command : found_in(run("--help").out, "\n  ([a-z]+)  ")) {
    const std::set<std::string> taking = options_of_places(command);
    options += taking.size();
    const std::string line = question_of(command);
    for (const std::string& option : taking) {
      for (const std::string& place : places) {
        const auto done = run(line + " " + option + " '" + place + "'");
        INFO(line << " " << option << " " << place << "\n" << done.err);
        const bool refused = done.exit_code == 2 || (command == "validate" && done.exit_code == 4);  // no GPU
        CHECK(refused);
        CHECK(done.err.size() <= 4096);
      }
    }
  }
  CHECK(options >= 60);  // else the rows were not found in the help
}

/// A link that leads back to itself by another.
std::string circle_of_links() {
  const std::string folder = scratch_folder();
  std::filesystem::create_symlink(folder + "/a", folder + "/b");
  std::filesystem::create_symlink(folder + "/b", folder + "/a");
  return folder + "/a";
}

TEST_CASE("no option takes a file or folder in a circle of links or below a device") {
  check_places_refused({circle_of_links(), "/dev/null/x"});
}

TEST_CASE("no option takes a file or folder below a circle of links, or with too long a name",
          "[.nightly][long]") {
  check_places_refused({circle_of_links() + "/x", scratch_folder() + "/" + std::string(300, 'x')});
}

TEST_CASE("an answer that leads to a device or a pipe is written there, journals included") {
  CHECK(run("list presets --output /dev/null").exit_code == 0);
  CHECK(run("sweep count -i 64 --q-tile 8 --kv-tile 4 --over window=8,16 --journal /dev/null").exit_code ==
        0);
}

}  // namespace places_test

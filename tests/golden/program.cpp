#include "program.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "sanitized.hpp"

namespace natten_sim::test {
namespace {

namespace fs = std::filesystem;

struct Scratch {
  fs::path root = fs::temp_directory_path() / ("natten-sim-tests-" + std::to_string(getpid()));
  std::atomic<int> next{0};
  Scratch() { fs::create_directories(root); }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
};

Scratch& scratch() {
  static Scratch instance;
  return instance;
}

}  // namespace

std::string scratch_folder() {
  const fs::path folder = scratch().root / std::to_string(scratch().next++);
  fs::create_directories(folder);
  return folder.string();
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Run run(const std::string& line, const std::string& input) {
  const std::string folder = scratch_folder();
  write_text(folder + "/in", input);
  const std::string command = std::string("'") + NATTEN_SIM_PROGRAM + "' " + line + " < '" + folder +
                              "/in' > '" + folder + "/out' 2> '" + folder + "/err'";
  const int status = std::system(command.c_str());
  Run result{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(folder + "/out"),
             read_text(folder + "/err")};
  fs::remove_all(folder);
  return result;
}

int shell_exit_code(const std::string& command) {
  const std::string whole =
      std::string("PROGRAM='") + NATTEN_SIM_PROGRAM + "'; { " + command + "; } 2> /dev/null";
  const int status = std::system(whole.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void check_refused(const std::string& line, const std::vector<std::string>& words, const std::string& input) {
  const Run done = run(line, input);
  INFO("natten-sim " << line << "\n" << done.err);
  CHECK(done.exit_code == 2);
  CHECK(done.out.empty());
  // A sanitized run takes seconds, and says first how far it is.
  const std::size_t error = kSanitized ? std::min(done.err.find("natten-sim: error: "), done.err.size()) : 0;
  CHECK(done.err.substr(error).starts_with("natten-sim: error: "));
  for (const std::string& word : words) {
    INFO("word: " << word);
    CHECK(done.err.find(word) != std::string::npos);
  }
}

namespace {

Json whole_result_of(const std::string& line) {
  const Run done = run(line + " --json");
  INFO("natten-sim " << line << " --json\n" << done.err);
  REQUIRE(done.exit_code == 0);
  const Json object = Json::parse(done.out);
  const std::string subcommand = line.substr(0, line.find(' '));
  const std::string number = subcommand == "reproduce" ? "/3" : "/1";
  REQUIRE(object["schema"] == "natten-sim." + subcommand + number);
  REQUIRE(object["version"].is_string());
  REQUIRE(object["input"].is_object());
  return object["result"];
}

}  // namespace

Json result_of(const std::string& line) {
  Json result = whole_result_of(line);
  result.erase("conclusion");
  return result;
}

Json conclusion_of(const std::string& line) {
  const Json result = whole_result_of(line);
  return result.contains("conclusion") ? result["conclusion"] : Json();
}

}  // namespace natten_sim::test

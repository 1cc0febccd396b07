#include "program.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "cli/command.hpp"
#include "commands.hpp"
#include "json_schema.hpp"
#include "places.hpp"
#include "sanitized.hpp"

namespace natten_sim::test {
namespace {

namespace fs = std::filesystem;

/// What the program and its tools read of the environment is the same for every run of the tests.
const bool kPlainEnvironment = [] {
  for (const char* name : {"COLUMNS", "NO_COLOR", "TERM", "NATTEN_SIM_CUPTI", "LANG", "LANGUAGE"})
    ::unsetenv(name);
  ::setenv("LC_ALL", "C", 1);
  ::setenv("TZ", "UTC", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);  // a machine may have a GPU
  return true;
}();

/// Folders of this process, which end with it.
struct Scratch {
  explicit Scratch(const std::string& name)
      : root(fs::temp_directory_path() / (name + "-" + std::to_string(getpid()))) {
    fs::create_directories(root);
  }
  fs::path root;
  std::atomic<int> next{0};
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
};

Scratch& scratch() {
  static Scratch instance("natten-sim-tests");
  return instance;
}

/// What is only read: a line that names it keeps its answer.
Scratch& read_only() {
  static Scratch instance("natten-sim-recordings");
  return instance;
}

std::string new_folder(Scratch& scratch) {
  const fs::path folder = scratch.root / std::to_string(scratch.next++);
  fs::create_directories(folder);
  return folder.string();
}

void add_to_environment(const std::vector<std::string>& variables) {
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
}

void flush_all() {
  std::cout.flush();
  std::cerr.flush();
  std::clog.flush();
  std::fflush(nullptr);
}

/// A file without a name, which ends with this object.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text = "") : file_(::memfd_create("natten-sim-test", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("memfd_create");
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t written = ::write(file_, text.data() + at, text.size() - at);
      if (written <= 0) throw std::runtime_error("write to a memory file");
      at += static_cast<std::size_t>(written);
    }
    ::lseek(file_, 0, SEEK_SET);
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] int descriptor() const { return file_; }
  [[nodiscard]] std::string text() const {
    std::string all(static_cast<std::size_t>(::lseek(file_, 0, SEEK_END)), '\0');
    for (std::size_t at = 0; at < all.size();) {
      const ssize_t got = ::pread(file_, all.data() + at, all.size() - at, static_cast<off_t>(at));
      if (got <= 0) throw std::runtime_error("read of a memory file");
      at += static_cast<std::size_t>(got);
    }
    return all;
  }

 private:
  int file_;
};

/// Standard input, output and error of one run.
struct Streams {
  explicit Streams(const std::string& input) : in(input) {}
  MemoryFile in, out, err;

  /// Puts them in the place of this process's streams.
  void take_place() const {
    ::dup2(in.descriptor(), STDIN_FILENO);
    ::dup2(out.descriptor(), STDOUT_FILENO);
    ::dup2(err.descriptor(), STDERR_FILENO);
  }
  [[nodiscard]] Run result(int exit_code) const { return {exit_code, out.text(), err.text()}; }
};

/// What a run changes of this process, as it was before: streams and what signals do.
class Surroundings {
 public:
  Surroundings() {
    flush_all();
    for (const int stream : {0, 1, 2})
      streams_[static_cast<std::size_t>(stream)] = ::fcntl(stream, F_DUPFD_CLOEXEC, 3);
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &actions_[i]);
  }
  ~Surroundings() {
    flush_all();
    for (const int stream : {0, 1, 2}) {
      ::dup2(streams_[static_cast<std::size_t>(stream)], stream);
      ::close(streams_[static_cast<std::size_t>(stream)]);
    }
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &actions_[i], nullptr);
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

 private:
  static constexpr std::array<int, 6> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};
  std::array<int, 3> streams_{};
  std::array<struct sigaction, kSignals.size()> actions_{};
};

/// What a shell makes of the line, where both agree: it refuses to guess.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false, begun = false;
  for (const char character : line) {
    if (character == '\'') {
      quoted = !quoted;
      if (!begun) words.emplace_back();
      begun = true;
    } else if (!quoted && (character == ' ' || character == '\n' || character == '\t')) {
      begun = false;
    } else {
      if (!quoted && std::string("\"\\$`|&;<>()#!").find(character) != std::string::npos)
        throw std::logic_error("not a plain line: " + line);
      if (!begun) words.emplace_back();
      begun = true;
      words.back() += character;
    }
  }
  if (quoted) throw std::logic_error("an open quote: " + line);
  words.insert(words.begin(), natten_sim::test::kProgram);
  return words;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// With streams in their place.
int call_program(std::vector<std::string>& words) {
  std::vector<char*> argv = pointers_to(words);
  std::fseek(stdin, 0, SEEK_SET);  // whatever an earlier run left in its buffer
  std::clearerr(stdin);
  std::clearerr(stdout);
  return cli::run_program(static_cast<int>(words.size()), argv.data(), cli::commands());
}

Run run_here(std::vector<std::string>& words, const std::string& input) {
  const Streams streams(input);
  int exit_code = -1;
  {
    const Surroundings before;
    streams.take_place();
    exit_code = call_program(words);
  }
  return streams.result(exit_code);
}

/// Exit code of a child that runs `body` on these streams.
template <typename Body>
Run run_in_child(const std::string& input, const Body& body) {
  const Streams streams(input);
  flush_all();
  ::malloc_trim(0);  // a copy takes time for every page, and those of earlier runs are free
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    for (const int signal :
         {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGSEGV, SIGABRT, SIGFPE, SIGILL})
      std::signal(signal, SIG_DFL);  // those of Catch2 are not the program's
    streams.take_place();
    body();
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return streams.result(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/// A picture on standard output stands in place of the next answer, also of a later run where this one fails.
bool replaces_answer(const std::vector<std::string>& words) {
  return std::any_of(words.begin() + 1, words.end(),
                     [](const std::string& word) { return word == "-" || word.ends_with("=-"); });
}

/// --max-memory and --max-time limit a process, and the classroom is looked for beside the program's file.
bool is_about_a_process(const std::vector<std::string>& words) {
  return std::any_of(words.begin() + 1, words.end(), [](const std::string& word) {
    return word.starts_with("--max-memory") || word.starts_with("--max-time") || word == "classroom";
  });
}

Run run_in_copy(std::vector<std::string>& words, const std::string& input,
                const std::vector<std::string>& environment = {}) {
  return run_in_child(input, [&] {
    add_to_environment(environment);
    const int exit_code = call_program(words);
    flush_all();
    ::_exit(exit_code);
  });
}

/// @throws std::logic_error for an answer that is not as its subcommand describes it
const Run& checked(const std::string& line, const Run& done) {
  const std::string fault = answer_fault(done.out);
  if (!fault.empty()) throw std::logic_error(line + ": not as described: " + fault);
  return done;
}

}  // namespace

std::string scratch_folder() { return new_folder(scratch()); }

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Run run(const std::string& line, const std::string& input) {
  std::vector<std::string> words = words_of(line);
  if (is_about_a_process(words)) return run_process(line, input);
  if (line.find(scratch().root.string()) != std::string::npos || replaces_answer(words))
    return checked(line, run_in_copy(words, input));
  static std::map<std::pair<std::string, std::string>, Run> known;
  const auto found = known.find({line, input});
  if (found != known.end()) return found->second;
  return checked(line, known[{line, input}] = run_here(words, input));
}

Run run_process(const std::string& line, const std::string& input,
                const std::vector<std::string>& environment) {
  std::vector<std::string> words = words_of(line);
  return run_in_child(input, [&] {
    add_to_environment(environment);
    ::execv(words.front().c_str(), pointers_to(words).data());
  });
}

Run run_with(const std::vector<std::string>& environment, const std::string& line, const std::string& input) {
  std::vector<std::string> words = words_of(line);
  return is_about_a_process(words) ? run_process(line, input, environment)
                                   : run_in_copy(words, input, environment);
}

namespace {

std::string recording_file(const std::string& name) {
  return std::string(natten_sim::test::kSourceDir) + "/data/recordings/" + name + ".json";
}

}  // namespace

std::string shipped_recordings(const std::vector<std::string>& names) {
  static std::map<std::vector<std::string>, std::string> folders;
  std::string& folder = folders[names];
  if (!folder.empty()) return folder;
  folder = new_folder(read_only());
  for (const std::string& name : names) fs::copy_file(recording_file(name), folder + "/" + name + ".json");
  return folder;
}

std::string part_of_recording(const std::string& name, const std::function<bool(const Json& point)>& keep) {
  Json recording = Json::parse(read_text(recording_file(name)));
  Json rows = Json::array();
  for (const Json& row : recording["rows"]) {
    if (keep(row["point"])) rows.push_back(row);
  }
  recording["rows"] = rows;
  const std::string folder = new_folder(read_only());
  write_text(folder + "/" + name + ".json", recording.dump());
  return folder;
}

int shell_exit_code(const std::string& command) {
  const std::string whole =
      std::string("PROGRAM='") + natten_sim::test::kProgram + "'; { " + command + "; } 2> /dev/null";
  const int status = std::system(whole.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void check_refused(const Run& done, const std::string& line, const std::vector<std::string>& words) {
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

void check_refused(const std::string& line, const std::vector<std::string>& words, const std::string& input) {
  check_refused(run(line, input), line, words);
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

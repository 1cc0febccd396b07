#include "fuzz/program.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz {
namespace {

/// Reads options and does not answer.
class Reader : public cli::Form {
 public:
  explicit Reader(std::unique_ptr<cli::Form> form) : form_(std::move(form)) {}
  void take(std::size_t option, const std::vector<std::string>& words) override {
    form_->take(option, words);
  }
  void take(std::size_t option, const std::string& spelled, const Json& value) override {
    form_->take(option, spelled, value);
  }
  int answer(const cli::Given&, cli::Reply&) override { return cli::kExitDone; }

 private:
  std::unique_ptr<cli::Form> form_;
};

std::vector<cli::Command> commands_that(Answers answers) {
  std::vector<cli::Command> commands = cli::commands();
  for (cli::Command& command : commands) {
    if (answers == Answers::kQuick && command.name == "count") continue;
    command.begin = [begin = command.begin] { return std::make_unique<Reader>(begin()); };
  }
  return commands;
}

/// Standard output and error lead nowhere while it lives.
class Silence {
 public:
  Silence() : out_(::dup(STDOUT_FILENO)), err_(::dup(STDERR_FILENO)) {
    std::fflush(nullptr);
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
    ::close(nowhere);
  }
  ~Silence() {
    std::fflush(nullptr);
    ::dup2(out_, STDOUT_FILENO);
    ::dup2(err_, STDERR_FILENO);
    ::close(out_);
    ::close(err_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int out_, err_;
};

}  // namespace

int run_program(std::vector<std::string> words, Answers answers) {
  static const std::vector<cli::Command> kReadAll = commands_that(Answers::kNone);
  static const std::vector<cli::Command> kQuick = commands_that(Answers::kQuick);
  words.insert(words.begin(), "natten-sim");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int code = 0;
  {
    const Silence silence;
    code = cli::run_program(static_cast<int>(words.size()), argv.data(),
                            answers == Answers::kNone ? kReadAll : kQuick);
  }
  require(code == cli::kExitDone || code == cli::kExitBadInput, "the program is done or refuses its input");
  return code;
}

ScratchFolder::ScratchFolder() : path_("/tmp/natten-sim-fuzz-XXXXXX") {
  require(::mkdtemp(path_.data()) != nullptr && ::chdir(path_.c_str()) == 0, "a folder can be made in /tmp");
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

bool has_option(const cli::Command& command, const std::string& name) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [&](const cli::OptionSpec& option) { return option.name() == name; });
}

void refuse_input() { throw MalformedData("input", "refused by the program", "a command line"); }

}  // namespace natten_sim::fuzz

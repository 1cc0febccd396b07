#include "fuzz/program.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
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

/// Standard output and error lead elsewhere while it lives, and standard input is empty.
class Redirected {
 public:
  Redirected(int out, int err) : out_(::dup(STDOUT_FILENO)), err_(::dup(STDERR_FILENO)) {
    std::fflush(nullptr);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, STDIN_FILENO);
    ::dup2(out < 0 ? nowhere : out, STDOUT_FILENO);
    ::dup2(err < 0 ? nowhere : err, STDERR_FILENO);
    ::close(nowhere);
  }
  ~Redirected() {
    std::fflush(nullptr);
    ::dup2(out_, STDOUT_FILENO);
    ::dup2(err_, STDERR_FILENO);
    ::close(out_);
    ::close(err_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int out_, err_;
};

int call_program(std::vector<std::string> words, const std::vector<cli::Command>& commands) {
  words.insert(words.begin(), "natten-sim");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return cli::run_program(static_cast<int>(words.size()), argv.data(), commands);
}

/// A file in memory that is written, read and emptied again and again.
class Captured {
 public:
  Captured() : file_(::memfd_create("printed", MFD_CLOEXEC)) {}
  ~Captured() { ::close(file_); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  [[nodiscard]] int descriptor() const { return file_; }
  std::string take() {
    std::string text(static_cast<std::size_t>(std::max<off_t>(0, ::lseek(file_, 0, SEEK_END))), '\0');
    const ssize_t got = ::pread(file_, text.data(), text.size(), 0);
    require(got == static_cast<ssize_t>(text.size()), "what was printed is read");
    require(::ftruncate(file_, 0) == 0 && ::lseek(file_, 0, SEEK_SET) == 0, "a file in memory is emptied");
    return text;
  }

 private:
  int file_;
};

}  // namespace

int run_program(std::vector<std::string> words, Answers answers) {
  static const std::vector<cli::Command> kReadAll = commands_that(Answers::kNone);
  static const std::vector<cli::Command> kQuick = commands_that(Answers::kQuick);
  int code = 0;
  {
    const Redirected nowhere(-1, -1);
    code = call_program(std::move(words), answers == Answers::kNone ? kReadAll : kQuick);
  }
  require(code == cli::kExitDone || code == cli::kExitBadInput, "the program is done or refuses its input");
  return code;
}

Printed printed_by_program(std::vector<std::string> words) {
  static Captured out, err;
  Printed printed;
  {
    const Redirected captured(out.descriptor(), err.descriptor());
    printed.code = call_program(std::move(words), cli::commands());
  }
  printed.out = out.take();
  printed.err = err.take();
  const auto codes = {cli::kExitDone, cli::kExitBadInput, cli::kExitOutOfTolerance};
  require(std::find(codes.begin(), codes.end(), printed.code) != codes.end(), "a question is answered or refused");
  return printed;
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

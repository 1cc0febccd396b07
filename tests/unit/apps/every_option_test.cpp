// Every option of every subcommand obeys the value that it is given, or refuses it: walked over the rows, so
// that an option that is added is tested too.
#include <cstdio>
#include <functional>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <natten_sim/core/error.hpp>

#include "catch.hpp"
#include "cli/command_line.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "commands.hpp"

namespace every_option_test {

using namespace natten_sim::cli;

/// What reached a subcommand's rows in one run of the program.
struct Reached {
  int exit_code = -1;
  bool answered = false;
  std::vector<std::pair<std::size_t, std::vector<std::string>>> words;  ///< place of the option, its words
  std::string err;
};

/// Reads with the rows of a subcommand, and stops before the answer.
class Probe : public Form {
 public:
  Probe(std::unique_ptr<Form> form, Reached& reached) : form_(std::move(form)), reached_(reached) {}
  void take(std::size_t option, const std::vector<std::string>& words) override {
    reached_.words.emplace_back(option, words);
    form_->take(option, words);
  }
  void take(std::size_t option, const std::string& spelled, const natten_sim::Json& value) override {
    form_->take(option, spelled, value);
  }
  int answer(const Given&, Reply&) override {
    reached_.answered = true;
    return kExitDone;
  }

 private:
  std::unique_ptr<Form> form_;
  Reached& reached_;
};

/// Standard error, kept from the terminal.
class KeptStderr {
 public:
  KeptStderr() : terminal_(::dup(STDERR_FILENO)), file_(std::tmpfile()) {
    std::fflush(stderr);
    ::dup2(::fileno(file_), STDERR_FILENO);
  }
  ~KeptStderr() {
    std::fflush(stderr);
    ::dup2(terminal_, STDERR_FILENO);
    ::close(terminal_);
    std::fclose(file_);
  }
  KeptStderr(const KeptStderr&) = delete;
  KeptStderr& operator=(const KeptStderr&) = delete;
  [[nodiscard]] std::string text() {
    std::fflush(stderr);
    std::rewind(file_);
    std::string text;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) text += static_cast<char>(c);
    return text;
  }

 private:
  int terminal_;
  std::FILE* file_;
};

/// Runs `command`, without its rules about company, with one word.
Reached run_with(Command command, const std::string& word) {
  Reached reached;
  for (OptionSpec& spec : command.options) spec.excludes = {}, spec.needs = {}, spec.rules_out = {};
  command.begin = [&reached, begin = command.begin] { return std::make_unique<Probe>(begin(), reached); };
  std::vector<std::string> line = {"natten-sim", command.name, word};
  std::vector<char*> argv;
  for (std::string& each : line) argv.push_back(each.data());
  argv.push_back(nullptr);
  KeptStderr kept;
  reached.exit_code = run_program(static_cast<int>(line.size()), argv.data(), {command});
  reached.err = kept.text();
  return reached;
}

void for_each_option(
    bool flags,
    const std::function<void(const Command&, std::size_t place, const std::string& flag)>& check) {
  int walked = 0;
  for (const Command& command : commands()) {
    for (std::size_t i = 0; i < command.options.size(); ++i) {
      if (command.options[i].value_name.empty() != flags) continue;
      const std::string flag = "--" + command.options[i].name();
      INFO(command.name << " " << flag);
      check(command, i, flag);
      ++walked;
    }
  }
  CHECK(walked > 30);
}

TEST_CASE("every flag of every subcommand is on, off when told so, and refuses any other value") {
  for_each_option(true, [](const Command& command, std::size_t place, const std::string& flag) {
    for (const char* on : {"", "=true", "=1"}) {
      const Reached reached = run_with(command, flag + on);
      CHECK(reached.answered);
      REQUIRE(reached.words.size() == 1);
      CHECK(reached.words[0].first == place);
    }
    for (const char* off : {"=false", "=0"}) {
      const Reached reached = run_with(command, flag + off);
      CHECK(reached.answered);
      CHECK(reached.words.empty());
    }
    for (const char* bad : {"=", "=5", "=-1", "=yes", "=TRUE", "={}", "=true,false"}) {
      const Reached reached = run_with(command, flag + bad);
      INFO(bad);
      CHECK(reached.exit_code == kExitBadInput);
      CHECK_FALSE(reached.answered);
      CHECK(reached.words.empty());
      CHECK(reached.err.find(flag.substr(2) + ": '" + (bad + 1) + "'") != std::string::npos);
      CHECK(reached.err.find("true, false, 1 or 0") != std::string::npos);
    }
  });
}

TEST_CASE("every option with a value of every subcommand reads it as it stands, or says what it accepts") {
  for_each_option(false, [](const Command& command, std::size_t place, const std::string& flag) {
    for (const std::string value : {"5", "-1", "0.5", "true", "auto", "bf16", "4x4", "1:2", "a value"}) {
      INFO(value);
      if (flag == std::string("--") + kOptionsFile) continue;  // names a file that is merged first
      std::vector<std::string> notes;  // with some values the flag is an old spelling of another option
      if (respelled(command, {flag, value}, notes).front() != flag) continue;
      const Reached reached = run_with(command, flag + "=" + value);
      REQUIRE(reached.words.size() == 1);
      CHECK(reached.words[0].first == place);
      CHECK(reached.words[0].second == std::vector<std::string>{value});
      CHECK(reached.answered == (reached.exit_code == kExitDone));
      if (reached.answered) continue;
      CHECK(reached.exit_code == kExitBadInput);
      CHECK(reached.err.find(flag.substr(2)) != std::string::npos);
      CHECK(reached.err.find("accepted: ") != std::string::npos);
    }
    for (const std::string& nothing : {flag, flag + "="}) {
      std::vector<std::string> notes;  // alone, `--causal` has a value that help states
      if (respelled(command, {nothing}, notes) != std::vector<std::string>{nothing}) continue;
      const Reached reached = run_with(command, nothing);
      CHECK(reached.exit_code == kExitBadInput);
      CHECK_FALSE(reached.answered);
      CHECK(reached.err.find(flag) != std::string::npos);
    }
    if (!command.options[place].choices.empty()) {
      const Reached reached = run_with(command, flag + "=no-such-choice");
      CHECK(reached.exit_code == kExitBadInput);
      CHECK(reached.err.find("no-such-choice") != std::string::npos);
    }
  });
}

TEST_CASE("where a number is refused for its size, --help and the manual state the bound") {
  int bounded = 0;
  for_each_option(false, [&](const Command& command, std::size_t place, const std::string& flag) {
    const Reached reached = run_with(command, flag + "=9223372036854775806");
    if (reached.answered) return;
    const std::regex range("accepted: [a-z ]*(-?[0-9]+\\.\\.[0-9]+)");
    std::smatch found;
    if (!std::regex_search(reached.err, found, range)) return;  // no whole number
    INFO(reached.err);
    CHECK(explained_with_range(command.options[place]).find(found[1].str()) != std::string::npos);
    ++bounded;
  });
  CHECK(bounded > 50);
}

}  // namespace every_option_test

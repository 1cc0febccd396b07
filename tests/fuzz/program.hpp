#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "commands.hpp"

/// The program, for targets that fuzz it as a whole.
namespace natten_sim::fuzz {

enum class Answers {
  kNone,  ///< every subcommand stops once its options are read
  kQuick  ///< `count` answers
};

/// Runs the program with these words and what it prints dropped. @return the exit code: done or bad input,
/// any other is a bug
int run_program(std::vector<std::string> words, Answers answers);

/// What a run of the whole program printed.
struct Printed {
  int code = 0;
  std::string out, err;
};

/// Runs the program, which answers, with these words and no standard input.
[[nodiscard]] Printed printed_by_program(std::vector<std::string> words);

[[nodiscard]] bool has_option(const cli::Command& command, const std::string& name);

/// The current folder of this process, empty at first; removed at its end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

 private:
  std::string path_;
};

/// The input was refused as it should be.
[[noreturn]] void refuse_input();

}  // namespace natten_sim::fuzz

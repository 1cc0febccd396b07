// Whole command lines, one word a line. Counts are answered, other subcommands read their options and stop.
// They run in a folder of their own, and a path that leads out of it is no input: what is fuzzed writes
// files.
#include <algorithm>

#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::command_line {

void read(std::string_view input) {
  static const ScratchFolder kFolder;
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < input.size();) {
    const std::size_t end = std::min(input.find('\n', begin), input.size());
    words.emplace_back(input.substr(begin, end - begin));
    begin = end + 1;
  }
  if (input.find('/') != std::string_view::npos) refuse_input();
  if (run_program(words, Answers::kQuick) != 0) refuse_input();
}

const Target kTarget("command_line", read);

}  // namespace natten_sim::fuzz::command_line

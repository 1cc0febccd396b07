// TOML files of options, for `count` and each subcommand that they name: read by its rows, but not answered.
#include "fuzz/program.hpp"
#include "fuzz/target.hpp"

namespace natten_sim::fuzz::options_file {

void read(std::string_view input) {
  const MemoryFile file(input);
  bool accepted = false;
  for (const cli::Command& command : cli::commands()) {
    if (!has_option(command, cli::kOptionsFile)) continue;
    if (command.name != "count" && input.find(command.name) == std::string_view::npos) continue;
    accepted |= run_program({command.name, std::string("--") + cli::kOptionsFile, file.path()}, Answers::kNone) == 0;
  }
  if (!accepted) refuse_input();
}

const Target kTarget("options_file", read);

}  // namespace natten_sim::fuzz::options_file

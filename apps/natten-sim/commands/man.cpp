#include <algorithm>
#include <filesystem>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

#include "cli/man_page.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "commands.hpp"

namespace natten_sim::cli {
namespace {

struct ManFlags {
  std::optional<std::string> of;  ///< none: the program
  std::optional<std::string> folder;
  std::optional<std::string> output;
};

std::vector<std::string> subcommand_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.name);
  return names;
}

std::string man_page_of(const std::optional<std::string>& name) {
  if (!name) return program_man_page(commands());
  const auto found = std::find_if(commands().begin(), commands().end(),
                                  [&](const Command& command) { return command.name == *name; });
  if (found != commands().end()) return command_man_page(*found);
  throw UnknownName("subcommand", *name, closest_name(*name, subcommand_names()), joined(subcommand_names()));
}

void write_all(const std::filesystem::path& folder) {
  write_file((folder / "natten-sim.1").string(), program_man_page(commands()));
  for (const Command& command : commands())
    write_file((folder / ("natten-sim-" + command.name + ".1")).string(), command_man_page(command));
}

int run_man(const ManFlags& flags) {
  if (flags.folder) {
    write_all(*flags.folder);
    return kExitDone;
  }
  OutputSink sink(flags.output, OutputSink::Mode::kBuffered);
  sink.write(man_page_of(flags.of));
  sink.commit();
  return kExitDone;
}

}  // namespace

Command man_command();
Command man_command() {
  Options<ManFlags> rows;
  rows.positional("subcommand", &ManFlags::of,
                  {.help = "A subcommand [the program as a whole]", .suggestions = subcommand_names});
  rows.add("--folder", &ManFlags::folder,
           {.value = "DIR", .help = "Write all pages into DIR", .rules_out = {{"output", "subcommand"}}});
  rows.add("--output", &ManFlags::output,
           {.value = "FILE", .help = "Write to FILE instead of stdout (complete or not at all)"});
  rows.group(kOutputGroup);
  Command command{.name = "man",
                  .position = 101,
                  .group = kHelpCommands,
                  .summary = "Print a page of the manual, as man reads it",
                  .examples = {"natten-sim man count | man -l -"},
                  .exit_codes = "0 done, 1 internal error, 2 bad input."};
  bind(command, rows, run_man);
  return command;
}

}  // namespace natten_sim::cli

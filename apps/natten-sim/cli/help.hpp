#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/terminal.hpp"

namespace natten_sim::cli {

/// -h shows what a first question needs, --help everything.
enum class HelpDetail { kShort, kFull };

/// How a page of help looks.
struct HelpStyle {
  int width = 80;
  Palette palette{false};
};

/// The help of a subcommand: what it does, examples, then its options in their groups.
///
///     natten-sim count - Count exactly which tiles an attention problem visits
///
///     Usage: natten-sim count [OPTIONS]
///
///     Examples:
///       natten-sim count --preset flux1-dev-4k -w 80 80 -s 16 16 --json
///
///     Problem:
///       -w, --window, --window-size N...
///                                 Window, one size an axis
[[nodiscard]] std::string command_help(const Command& command, HelpDetail detail, const HelpStyle& style);

/// The help of the program: its subcommands in their groups, and where to begin.
[[nodiscard]] std::string program_help(const std::vector<Command>& commands, HelpDetail detail,
                                       const HelpStyle& style);

// What pages of help and of manuals are made of.

struct OptionGroup {
  std::string title;
  std::vector<const OptionSpec*> options;
};
/// In the order in which their first options stand.
[[nodiscard]] std::vector<OptionGroup> option_groups(const Command& command);

struct CommandGroup {
  std::string title;
  std::vector<const Command*> commands;
};
[[nodiscard]] std::vector<CommandGroup> command_groups(const std::vector<Command>& commands);

/// `natten-sim list [OPTIONS] [WHAT]`
[[nodiscard]] std::string usage(const Command& command);
/// `-w, --window, --window-size N...`
[[nodiscard]] std::string spelled(const OptionSpec& option);
/// Its help, and the values that it takes where the help leaves some out.
[[nodiscard]] std::string explained(const OptionSpec& option);
/// And the bounds of whole numbers, as --help and the manual have it.
[[nodiscard]] std::string explained_with_range(const OptionSpec& option);

/// What the whole program has to say, on all pages of it.
struct ProgramText {
  std::string summary;
  std::vector<std::string> examples;
  std::vector<std::pair<std::string, std::string>> environment;  ///< variable, meaning
  std::string exit_codes;
};
[[nodiscard]] const ProgramText& program_text();

}  // namespace natten_sim::cli

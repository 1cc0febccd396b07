#pragma once

#include <vector>

#include "cli/command.hpp"

namespace natten_sim::cli {

/// The subcommands, by position: one a file of commands/ (`count.cpp` defines `Command count_command()`), and
/// those that were registered besides.
[[nodiscard]] const std::vector<Command>& commands();

/// Adds a subcommand from elsewhere, before the first call of commands(): a test's, say.
///     [[maybe_unused]] const bool kAdded = add_command(greet_command);
bool add_command(Command (*make)());

}  // namespace natten_sim::cli

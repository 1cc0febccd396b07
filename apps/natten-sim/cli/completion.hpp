#pragma once

#include "cli/command.hpp"

namespace natten_sim::cli {

inline constexpr const char* kCompletionCommand = "completion";

[[nodiscard]] Command completion_command();

/// Writes the completion script of the shell that the arguments name, made from the option tables of all
/// subcommands.
int print_completion(const Arguments& arguments, const std::vector<Command>& commands);

}  // namespace natten_sim::cli

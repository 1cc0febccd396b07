#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace natten_sim::cli {

/// The completion script of `shell` (bash, zsh or fish), made from the option tables of `commands`.
/// @throws InvalidParameter for another shell.
[[nodiscard]] std::string completion_script(const std::string& shell, const std::vector<Command>& commands);

}  // namespace natten_sim::cli

#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace natten_sim::cli {

/// Pages of the manual, section 1, as man(7) reads them, from the same rows as help. They hold no date: the
/// same program writes the same pages.
[[nodiscard]] std::string program_man_page(const std::vector<Command>& commands);
[[nodiscard]] std::string command_man_page(const Command& command);

}  // namespace natten_sim::cli

#pragma once

#include <string>

#include "cli/command.hpp"

namespace natten_sim::cli {

/// Fills in options that the command line left out from a TOML file: keys are option names, at the top level
/// (for every subcommand) or in a table named like the subcommand, which wins. @throws MalformedData,
/// UnknownName.
void merge_config(const std::string& path, const Command& command, const std::vector<Command>& commands,
                  Arguments& arguments);

}  // namespace natten_sim::cli

#pragma once

#include "cli/sources.hpp"

namespace natten_sim::cli {

/// Fills in options that the command line left out from the TOML file that it names, if it does: keys are
/// those of OptionNames, at the top level (for every subcommand) or in a table named like the subcommand,
/// which wins. Values are read as those of JSON. @throws MalformedData, UnknownName.
void merge_config(const std::vector<Command>& commands, Sources& sources);

}  // namespace natten_sim::cli

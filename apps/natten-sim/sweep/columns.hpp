#pragma once

#include "cli/invocation.hpp"
#include "sweep/grid.hpp"
#include "sweep/table.hpp"

namespace natten_sim::cli {

/// Refuses columns of --x, --y and --by that no answer of the subcommand has, by the schemas of its input and
/// result: before any point is answered. Where the result has members of any name, all columns below it are
/// let through.
/// @throws UnknownName
void require_columns(const Command& command, const SweepGrid& grid, const SweepPicture& picture);

}  // namespace natten_sim::cli

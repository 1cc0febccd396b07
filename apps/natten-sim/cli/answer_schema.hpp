#pragma once

#include <natten_sim/io/json.hpp>

#include "cli/command.hpp"

namespace natten_sim::cli {

[[nodiscard]] bool has_answer_schema(const Command& command);

/// JSON Schema of the `result` that the subcommand prints with --json; of any value where it describes none.
[[nodiscard]] Json answer_schema(const Command& command);

}  // namespace natten_sim::cli

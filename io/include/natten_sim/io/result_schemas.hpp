#pragma once

#include <string>

#include <natten_sim/io/json.hpp>

namespace natten_sim {

[[nodiscard]] bool has_result_schema(const std::string& subcommand);

/// JSON Schema of the `result` that `natten-sim SUBCOMMAND --json` prints, from data/result-schemas.json.
/// @throws UnknownName for a subcommand that has none
[[nodiscard]] Json result_schema(const std::string& subcommand);

}  // namespace natten_sim

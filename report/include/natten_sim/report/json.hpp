#pragma once

#include <optional>
#include <string>

#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/core/wide_integer.hpp>
#include <natten_sim/io/json_text.hpp>

namespace natten_sim::report {

using natten_sim::Json;

[[nodiscard]] Json to_json(const Extents& extents);
[[nodiscard]] Json to_json(const PerAxis<bool>& values);

/// An integer; beyond 63 bits its digits, which json_text() and csv_cell() print as they
/// are.
[[nodiscard]] Json wide_integer(Int128 value);

/// The value, or null for an empty optional.
template <typename T>
[[nodiscard]] Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// "natten-sim.count/1": the name and number of what a subcommand prints.
[[nodiscard]] std::string schema_name(const std::string& subcommand);

/// {"schema": "natten-sim.<subcommand>/1", "version", "input", "result"}, one line and a line break.
[[nodiscard]] std::string envelope(const std::string& subcommand, Json input, Json result);

/// Nested objects as `outer_inner` keys of one object.
[[nodiscard]] Json flattened(const Json& object);

}  // namespace natten_sim::report

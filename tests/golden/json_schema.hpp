#pragma once

#include <string>

#include "program.hpp"

namespace natten_sim::test {

/// What is wrong with `value` by a JSON Schema, with its place; empty: nothing. Knows the keywords that
/// `natten-sim schema` writes. @throws std::logic_error for another one: it would be passed over
[[nodiscard]] std::string schema_fault(const Json& value, const Json& schema, const std::string& place = "$");

/// JSON Schema of the `result` of a subcommand, which every answer that run() gives is checked against. Null: it
/// has none.
[[nodiscard]] const Json* answer_schema_of(const std::string& subcommand);
/// What is wrong with what a subcommand printed with --json, by that schema; empty: nothing, or it is no answer.
[[nodiscard]] std::string answer_fault(const std::string& printed);

}  // namespace natten_sim::test

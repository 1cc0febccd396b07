#pragma once

#include <string>

#include "program.hpp"

namespace natten_sim::test {

/// What is wrong with `value` by a JSON Schema, with its place; empty: nothing. Knows the keywords that
/// `natten-sim schema` writes. @throws std::logic_error for another one: it would be passed over
[[nodiscard]] std::string schema_fault(const Json& value, const Json& schema, const std::string& place = "$");

}  // namespace natten_sim::test

#pragma once

#include <string>
#include <string_view>

#include <natten_sim/io/json.hpp>

namespace natten_sim {

/// Requires well-formed JSON, nested at most 64 levels deep and without NUL bytes, in which no object repeats
/// a key (common parsers keep the last one silently).
/// @throws MalformedData naming `where`, and the key or the byte at fault.
void require_unique_keys(std::string_view json, const std::string& where);

/// The value of such text.
[[nodiscard]] Json parse_unique_json(std::string_view json, const std::string& where);

}  // namespace natten_sim

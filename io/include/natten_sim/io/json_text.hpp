#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace natten_sim {

/// Keys stay in the order in which they are set. Only forward-declared here, because parsing and printing are
/// slow to compile and stand in one file. Code that builds or reads values includes <nlohmann/json.hpp>.
using Json = nlohmann::ordered_json;

enum class JsonLayout { kOneLine, kIndented };

/// JSON text without a line break at the end. Bytes that are not UTF-8, as file names may have, become
/// U+FFFD. A binary value holds the digits of a number that no other kind holds.
[[nodiscard]] std::string json_text(const Json& value, JsonLayout layout = JsonLayout::kOneLine);

/// Requires text that `require_unique_keys` accepts.
[[nodiscard]] Json parse_json(std::string_view text);

}  // namespace natten_sim

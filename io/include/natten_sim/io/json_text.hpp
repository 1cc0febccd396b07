#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <natten_sim/io/json.hpp>

namespace natten_sim {

enum class JsonLayout { kOneLine, kIndented };

/// JSON text without a line break at the end. Bytes that are not UTF-8, as file names may have, become
/// U+FFFD.
[[nodiscard]] std::string json_text(const Json& value, JsonLayout layout = JsonLayout::kOneLine);

inline constexpr std::size_t kMaxNumberText = 32;
/// Writes a number as json_text does, where there is room for kMaxNumberText characters. @return its end
char* write_number(char* place, double value);

/// Of a key that appears twice in an object, the last value counts. `require_unique_keys` refuses such text.
/// @throws MalformedData for text that is not JSON.
[[nodiscard]] Json parse_json(std::string_view text);
/// The members of an object before its first array or object. What stands behind them is not read.
[[nodiscard]] Json parse_leading_scalars(std::string_view text);

}  // namespace natten_sim

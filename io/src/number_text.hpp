#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/core/per_axis.hpp>

namespace natten_sim::text {

/// Readers of numbers inside longer texts. @throws InvalidParameter naming `parameter`.

[[nodiscard]] std::vector<std::string> split(const std::string& text, char separator);

[[nodiscard]] std::int64_t integer(const std::string& parameter, const std::string& text, std::int64_t lo,
                                   std::int64_t hi);

/// `30x48x80`: 1 to 4 sizes of 1 or more.
[[nodiscard]] Extents extents(const std::string& parameter, const std::string& text);

/// `0x0x1`, or with true and false.
[[nodiscard]] PerAxis<bool> booleans(const std::string& parameter, const std::string& text);

}  // namespace natten_sim::text

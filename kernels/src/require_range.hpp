#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <natten_sim/core/error.hpp>

namespace natten_sim::kernels {

/// @throws InvalidParameter naming `name`, and the nearest accepted value, unless low <= value <= high.
inline void require_range(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return;
  throw InvalidParameter(name, std::to_string(value), std::to_string(low) + ".." + std::to_string(high),
                         std::to_string(std::clamp(value, low, high)));
}

}  // namespace natten_sim::kernels

#pragma once

#include <cstdint>

namespace natten_sim {

// The most heads and batch elements of any question: a thousand times those of any model, and few enough that
// their product fits in 63 bits with the tiles of a head.
inline constexpr std::int64_t kMaxHeads = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxBatch = std::int64_t{1} << 20;

}  // namespace natten_sim

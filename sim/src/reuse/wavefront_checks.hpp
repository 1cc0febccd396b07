#pragma once

#include <cstdint>

#include <natten_sim/sim/reuse/wavefront.hpp>

namespace natten_sim {

inline constexpr std::int32_t kMaxWavefrontStages = 16;

/// @throws InvalidParameter naming the first member that is out of its range.
void require_valid(const AttentionWork& work, const WavefrontDevice& device, const WavefrontOptions& options);

}  // namespace natten_sim

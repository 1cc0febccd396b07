#pragma once

#include <cstdint>
#include <memory>

#include <natten_sim/core/index_distribution.hpp>
#include <natten_sim/core/index_stream.hpp>

namespace natten_sim {

struct GeneratedIndices {
  IndexDistribution distribution;
  std::int64_t updates = 0;
  std::int64_t rows = 1;
  std::int64_t row_bytes = 32;  ///< keeps hot rows in distinct sectors
  std::uint64_t seed = 0;
};

inline constexpr std::int64_t kMaxUpdates = (std::int64_t{1} << 32) - 1;

/// O(1) a row; Zipf first tabulates the distribution, 12 bytes a row. Deterministic for a seed.
/// @throws InvalidParameter naming the parameter out of range.
[[nodiscard]] std::unique_ptr<IndexStream> generate_indices(const GeneratedIndices& request);

}  // namespace natten_sim

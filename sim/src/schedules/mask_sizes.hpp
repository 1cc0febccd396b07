#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

namespace natten_sim {

inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 40;

inline void require_size(const char* parameter, std::int64_t value) {
  if (value < 1 || value > kMaxTokens)
    throw InvalidParameter(parameter, std::to_string(value), "1..1099511627776 tokens");
}

inline void require_valid(const SequenceTiling& tiling) {
  require_size("seqlen_q", tiling.q_tokens);
  require_size("seqlen_k", tiling.kv_tokens);
  require_size("q_tile", tiling.q_tile);
  require_size("kv_tile", tiling.kv_tile);
}

/// @throws InvalidParameter for a mask that is too large.
inline void require_edges(std::int64_t q_tiles, std::int64_t kv_tiles) {
  for (const auto& [name, tiles] : {std::pair{"q_tiles", q_tiles}, std::pair{"kv_tiles", kv_tiles}}) {
    if (tiles > kMostMaskEdge)
      throw InvalidParameter(name, std::to_string(tiles), "at most 65536: larger tiles make fewer");
  }
  if (q_tiles * kv_tiles > kMostMaskPairs)
    throw InvalidParameter("tiles", std::to_string(q_tiles * kv_tiles) + " pairs", "at most 268435456");
}

/// A mask without tasks. @throws InvalidParameter when it is too large.
[[nodiscard]] inline BlockMask empty_mask(std::int64_t q_tiles, std::int64_t kv_tiles) {
  require_edges(q_tiles, kv_tiles);
  return {static_cast<std::int32_t>(q_tiles), static_cast<std::int32_t>(kv_tiles),
          MaskCells(static_cast<std::size_t>(q_tiles * kv_tiles), TileWork::kNone)};
}

}  // namespace natten_sim

#pragma once

#include <cstdint>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// Tokens of Q and of K/V that one step of an attention kernel multiplies.
/// Multi-dimensional tiling: one size an axis. Single-dimensional tiling: one element.
struct TilePair {
  Extents q_tile;
  Extents kv_tile;

  friend constexpr bool operator==(const TilePair&, const TilePair&) = default;
};

/// Where KV tiles lie. Static: on a grid fixed for all Q tiles (Hopper and Blackwell FNA). Dynamic: from the
/// first token that the Q tile attends to (Ampere FNA).
enum class KvTiling { kStatic, kDynamic };

template <>
struct NamesOf<KvTiling> {
  static constexpr const char* kConcept = "kv-tiling";
  static constexpr Name<KvTiling> kTable[] = {{KvTiling::kStatic, "static"}, {KvTiling::kDynamic, "dynamic"}};
};

/// How tokens become tiles. Multi-dimensional: tiles are boxes of the layout, one dilation group at a time.
/// Single-dimensional: tokens stay in row-major order, a tile is a run of them.
enum class Tiling { kMultiDimensional, kSingleDimensional };

template <>
struct NamesOf<Tiling> {
  static constexpr const char* kConcept = "tiling";
  static constexpr Name<Tiling> kTable[] = {{Tiling::kMultiDimensional, "multi"},
                                            {Tiling::kSingleDimensional, "single"}};
};

/// Which operand the kernel's outer loop walks. Forward: each Q tile streams KV tiles. Backward: each KV tile
/// streams Q tiles (dK, dV stay resident); dynamic tiling then places Q tiles from the first query that
/// attends to the KV tile.
enum class Walk { kForward, kBackward };

/// How much of a pair of tiles attends: whether a kernel visits it, and what its compute costs.
enum class TileWork : std::uint8_t { kNone, kPartial, kFull };

/// Everything that decides which pairs of tiles a kernel visits. Tiles need not divide the sizes, and they
/// may be larger than an axis.
struct TilingProblem {
  NeighborhoodMask mask;
  TilePair tiles;
  KvTiling kv_tiling = KvTiling::kStatic;
  Tiling tiling = Tiling::kMultiDimensional;
  Walk walk = Walk::kForward;
};

/// @throws InvalidParameter naming `input`, `window`, `stride`, `dilation`, `q_tile` or `kv_tile`.
void require_valid(const TilingProblem& problem);

}  // namespace natten_sim

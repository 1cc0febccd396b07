#pragma once

#include <cstdint>
#include <optional>

#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/core/tile_count.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>

namespace natten_sim {

/// What NATTEN's kernels launch, visit and mask, for one head and one batch element. `TileCount` says what
/// the mask needs; the two differ where a kernel does more.
///
/// * Dilation: hopper-fna and blackwell-fna pad every dilation group to ceil(L / (tile * dilation)) tiles.
///   Tiles behind the end of a shorter group are launched, and walk the window of the last token (forward) or
///   the queries behind the last window's first one (backward). The forward grid of cutlass-fna has as many
///   CTAs for every group as the longest one needs; the CTAs too many walk one window along the first axis.
///   FlexAttention gets one block mask, of the longest group, for all groups.
/// * cutlass-fna streams KV tiles from each Q tile's own first key forward, the last one cut at the last key;
///   backward it streams Q tiles on a fixed grid.
/// * Masking is decided for a whole dilation group: either no visited tile is masked (only checked for bounds
///   where the streamed operand is padded), or every one is. FlexAttention masks partial blocks alone.
///
/// Source: NATTEN 0.21.6, csrc/include/natten/cuda/fna_hopper, fna_blackwell and fna, and
/// natten/backends/flex.py; held against transcriptions of their trip counts in tests/property.
struct KernelVisits {
  std::int64_t launched_tiles = 0;  ///< walked tiles (Q forward, KV backward) that run, empty ones included
  std::int64_t empty_tiles = 0;     ///< launched tiles without a token of the walked operand
  std::int64_t visited_tiles = 0;   ///< pairs of tiles that are multiplied, those of empty tiles included
  std::int64_t empty_visits = 0;    ///< visited tiles that belong to empty tiles
  std::int64_t unmasked_tiles = 0;  ///< visited without any mask
  std::int64_t bounds_masked_tiles = 0;  ///< visited with a check for padding
  std::int64_t masked_tiles = 0;         ///< visited with the mask evaluated for each element

  friend constexpr bool operator==(const KernelVisits&, const KernelVisits&) = default;
};

/// How all visited tiles of a run are masked; mixed where groups or blocks differ.
enum class Masking { kNone, kBounds, kElements, kMixed };

template <>
struct NamesOf<Masking> {
  static constexpr const char* kConcept = "masking";
  static constexpr Name<Masking> kTable[] = {{Masking::kNone, "none"},
                                             {Masking::kBounds, "bounds"},
                                             {Masking::kElements, "elements"},
                                             {Masking::kMixed, "mixed"}};
};

[[nodiscard]] Masking masking_of(const KernelVisits& visits) noexcept;

/// A dense kernel: the family that it belongs to, and its tiles.
struct FmhaKernel {
  NattenBackend family = NattenBackend::kHopperFna;
  std::int64_t q_tile = 0;
  std::int64_t kv_tile = 0;
};

/// Whether padded tiles along the axis are checked for bounds. With three axes cutlass-fna looks at the first two alone.
/// Source: evenly_divides in fna/na_utils.cuh.
[[nodiscard]] bool padding_counts(NattenBackend backend, std::size_t rank, std::size_t axis) noexcept;

struct NattenProblem {
  NeighborhoodMask mask;  ///< 1 to 3 axes
  NattenBackend backend = NattenBackend::kHopperFna;
  TilePair tiles;   ///< tiles of the FNA kernel in this pass; FlexAttention has the same for both passes
  FmhaKernel fmha;  ///< serves additional keys and windows that cover the input
  Walk pass = Walk::kForward;
  std::int64_t additional_keys = 0;
  /// The FNA kernel itself, even where NATTEN hands the call to its dense kernel.
  bool kernel_alone = false;
  /// `count_axis` of each axis under the same tiles in this pass, on the backend's own grid: where they are
  /// known, axes without dilation are not counted again. Empty: not known.
  PerAxis<AxisCount> counted = {};
};

struct NattenVisits {
  bool dense_path = false;  ///< one FMHA call over all tokens, additional keys concatenated
  KernelVisits attention;
  std::optional<KernelVisits> additional;  ///< a second FMHA call: all tokens with the additional keys
};

/// Closed form; O(axes * count_axis).
/// @throws InvalidParameter on an invalid problem or four axes; OverflowError naming the count.
[[nodiscard]] NattenVisits natten_visits(const NattenProblem& problem);

/// The dense kernel alone. Backward, all tiles of a causal mask count as masked. Requires positive sizes; a
/// causal mask requires `queries == keys`.
/// @throws InvalidParameter, OverflowError
[[nodiscard]] KernelVisits fmha_visits(const FmhaKernel& kernel, std::int64_t queries, std::int64_t keys,
                                       bool causal, Walk pass);

}  // namespace natten_sim

#pragma once

#include <array>
#include <cstdint>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/tiling.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>

namespace natten_sim {

/// How the CTAs of a launch of NATTEN's cutlass-fna differ, for its time. A CTA walks a Q tile forward and, backward,
/// KV tiles at the distance of the splits along each axis.
struct CutlassLaunch {
  NeighborhoodMask mask;  ///< 1 to 3 axes, none a cycle
  TilePair tiles;
  Walk pass = Walk::kForward;
  std::int64_t repeats = 1;  ///< heads and batch elements
  std::int64_t head_dim = 64;
  bool deterministic = false;  ///< PyTorch's deterministic algorithms are on: no KV parallelism
};

/// CTAs of the backward pass along each axis: by default as many as there are KV tiles, unless with all heads, batch
/// elements and dilation groups they are more than 4096; then fewer along the last axes. One with deterministic
/// algorithms. Source: NATTEN 0.21.7, natten/backends/configs/cutlass/backward_knobs.py.
[[nodiscard]] Extents kv_splits(const CutlassLaunch& launch);

/// Bytes that a backward pass zeroes before its kernel (fp32 gradients of Q tiles, and of KV tiles where the kernel
/// does not keep them in registers) and that the sums of dO * O read. Source: fna/kernel_backward.h.
[[nodiscard]] double prepared_bytes(const CutlassLaunch& launch);

/// Tokens that a walked tile [first, end) streams on one axis: the keys of its queries, or the queries of its keys.
/// None: begin == end. O(1); O(log(length)) backward on a causal axis.
[[nodiscard]] TokenRange streamed_tokens(const AxisGroup& group, std::int64_t first, std::int64_t end, Walk pass);

/// Walked tiles of the first dilation group of an axis, by a dozen of them at even distances. O(1).
struct CutlassAxis {
  std::int64_t count = 0;
  double longest = 1;  ///< pairs of tiles of the longest over the mean; those that a stride's boundary cuts, too
  std::array<std::int64_t, kLateCtas> pairs = {};  ///< of the dozen, in order; 0: no such tile
  double mean = 1;     ///< of `pairs`
  double alike = 1;    ///< backward: mean number of tiles that begin with the same Q tile
  double filled = 1;   ///< share of the tiles' tokens that are there, of pairs of tiles

  friend bool operator==(const CutlassAxis&, const CutlassAxis&) = default;
};
[[nodiscard]] CutlassAxis cutlass_axis(const AxisMask& axis, const AxisTiles& tiles, Walk pass);

/// The CTAs of a launch, which windows do not change.
struct CutlassLayout {
  double groups = 1;      ///< dilation groups of all heads and batch elements
  PerAxis<double> ctas;   ///< of one group, along each axis
  double prepared_bytes = 0;
};
[[nodiscard]] CutlassLayout cutlass_layout(const CutlassLaunch& launch);

/// The spread of a launch, whose `sms` stay 1, and the share of its tiles' tokens that is not there. Forward, the last
/// tile of keys ends with the window; backward, tiles of queries and keys end with the axis.
struct CutlassWork {
  CtaSpread spread;
  double missing = 0;
};
[[nodiscard]] CutlassWork cutlass_work(const CutlassLaunch& launch);

/// An axis along which so many CTAs walk the tiles: shares of the mean CTA.
struct CutlassPart {
  double ctas = 1, longest = 1, alike = 1, filled = 1;
  double squares = 1;  ///< mean of the squares of `lengths`
  std::array<double, kLateCtas> lengths = {};  ///< 0: no such CTA
};
[[nodiscard]] CutlassPart cutlass_part(const CutlassAxis& axis, double ctas);

/// The same of the parts along each axis. O(axes).
[[nodiscard]] CutlassWork cutlass_work(const CutlassLayout& layout, const PerAxis<const CutlassPart*>& axes);

}  // namespace natten_sim

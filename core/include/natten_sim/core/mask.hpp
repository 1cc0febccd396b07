#pragma once

#include <cstdint>

#include <natten_sim/core/per_axis.hpp>

namespace natten_sim {

/// Largest accepted axis length. It leaves headroom so that sums of two sizes never overflow.
inline constexpr std::int64_t kMaxAxisLength = std::int64_t{1} << 60;

/// Generalized neighborhood attention along one axis of the token layout. All sizes in tokens.
/// Valid: all positive, window * dilation <= length, stride <= window.
/// Source: Hassani, dissertation on neighborhood attention, sections 2.2 and 4.2.2.
struct AxisMask {
  std::int64_t length = 0;
  std::int64_t window = 0;
  std::int64_t stride = 1;    ///< queries in a row that share one window
  std::int64_t dilation = 1;  ///< a token sees only tokens of its own residue modulo this
  bool causal = false;        ///< a token sees no token with a larger coordinate

  friend constexpr bool operator==(const AxisMask&, const AxisMask&) = default;
};

/// A query attends to a key iff it does so on every axis.
using NeighborhoodMask = PerAxis<AxisMask>;

/// One residue class of a dilated axis: an axis of its own, without dilation.
struct AxisGroup {
  std::int64_t length = 0;
  std::int64_t window = 0;
  std::int64_t stride = 1;
  bool causal = false;
};

/// Tokens begin, begin+1, .., end-1.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend constexpr bool operator==(const TokenRange&, const TokenRange&) = default;
};

/// @throws InvalidParameter naming the parameter (`input`, `window`, `stride`, `dilation`) and the axis.
void require_valid(const NeighborhoodMask& mask);
void require_valid(const AxisMask& axis, std::size_t axis_index);

/// Mask from per-axis parameters; empty stride, dilation, causal mean 1, 1, not causal; one value
/// counts for all axes, as in NATTEN.
/// @throws InvalidParameter on mismatched ranks or values out of range.
[[nodiscard]] NeighborhoodMask make_mask(const Extents& input, const Extents& window,
                                         const Extents& stride = {}, const Extents& dilation = {},
                                         const PerAxis<bool>& causal = {});

/// Residue class `residue` in 0..dilation-1; its length is ceil((length - residue) / dilation).
[[nodiscard]] constexpr AxisGroup residue_class(const AxisMask& axis, std::int64_t residue) noexcept {
  const std::int64_t left = axis.length - residue;
  return {left / axis.dilation + (left % axis.dilation != 0 ? 1 : 0), axis.window, axis.stride, axis.causal};
}

/// The rule: tokens that query `query` (0-based, within its group) attends to. Never empty, always
/// contiguous; begin and end do not decrease with `query`. O(1).
///
/// Queries g*stride .. g*stride+stride-1 share a leader, whose window all of them take. The window holds
/// `window` tokens and is shifted inwards at the borders. Causal: the leader is the last query of the group,
/// and its window ends with it. Each query attends to the part of the window up to itself.
[[nodiscard]] constexpr TokenRange attended_range(const AxisGroup& group, std::int64_t query) noexcept {
  const std::int64_t last = group.length - 1;
  const std::int64_t first_of_group = query / group.stride * group.stride;
  if (group.causal) {
    const std::int64_t leader =
        first_of_group + group.stride - 1 < last ? first_of_group + group.stride - 1 : last;
    const std::int64_t begin = leader - (group.window - 1);
    return {begin > 0 ? begin : 0, query + 1};
  }
  const std::int64_t leader =
      first_of_group + group.stride / 2 < last ? first_of_group + group.stride / 2 : last;
  const std::int64_t left = group.window / 2;
  const std::int64_t right = group.window / 2 + group.window % 2 - 1;
  std::int64_t begin = leader > left ? leader - left : 0;
  if (leader + right >= group.length) begin += group.length - right - leader - 1;
  return {begin, begin + group.window};
}

/// Layout extents of the mask.
[[nodiscard]] Extents input_of(const NeighborhoodMask& mask);
[[nodiscard]] Extents window_of(const NeighborhoodMask& mask);
[[nodiscard]] Extents stride_of(const NeighborhoodMask& mask);
[[nodiscard]] Extents dilation_of(const NeighborhoodMask& mask);
[[nodiscard]] PerAxis<bool> causal_of(const NeighborhoodMask& mask);

}  // namespace natten_sim

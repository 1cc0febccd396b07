#pragma once

#include <cstdint>

#include <natten_sim/core/per_axis.hpp>

namespace natten_sim {

/// Largest accepted axis length. It leaves headroom so that sums of two sizes never overflow.
inline constexpr std::int64_t kMaxAxisLength = std::int64_t{1} << 60;

/// Generalized neighborhood attention along one axis of the token layout. All sizes in tokens.
/// Valid: all positive, window * dilation <= length, stride <= window; a cyclic axis is not causal and its
/// length is a multiple of the dilation.
/// Source: Hassani, dissertation on neighborhood attention, sections 2.2 and 4.2.2.
struct AxisMask {
  std::int64_t length = 0;
  std::int64_t window = 0;
  std::int64_t stride = 1;    ///< queries in a row that share one window
  std::int64_t dilation = 1;  ///< a token sees only tokens of its own residue modulo this
  bool causal = false;        ///< a token sees no token with a larger coordinate
  bool cyclic = false;        ///< the last token is next to the first, as with longitudes; not in NATTEN

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
  bool cyclic = false;  ///< never if the window covers the group: all tokens see all, wherever it begins
};

/// Tokens begin, begin+1, .., end-1; on a cyclic axis modulo its length.
struct TokenRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend constexpr bool operator==(const TokenRange&, const TokenRange&) = default;
};

/// @throws InvalidParameter naming the parameter (`input`, `window`, `stride`, `dilation`, `cyclic`) and the
/// axis.
void require_valid(const NeighborhoodMask& mask);
void require_valid(const AxisMask& axis, std::size_t axis_index);

/// For what has no cyclic axes. `accepted` says why, as "false: NATTEN's windows end at the borders".
/// @throws InvalidParameter naming `cyclic` and the axis.
void require_no_cycle(const NeighborhoodMask& mask, const char* accepted);
[[nodiscard]] bool has_cycle(const NeighborhoodMask& mask) noexcept;
[[nodiscard]] bool has_causal_axis(const NeighborhoodMask& mask) noexcept;

/// Mask from per-axis parameters; empty stride, dilation, causal, cyclic mean 1, 1, not causal, not cyclic; one
/// value counts for all axes, as in NATTEN.
/// @throws InvalidParameter on mismatched ranks or values out of range.
[[nodiscard]] NeighborhoodMask make_mask(const Extents& input, const Extents& window,
                                         const Extents& stride = {}, const Extents& dilation = {},
                                         const PerAxis<bool>& causal = {},
                                         const PerAxis<bool>& cyclic = {});

/// Residue class `residue` in 0..dilation-1; its length is ceil((length - residue) / dilation).
[[nodiscard]] constexpr AxisGroup residue_class(const AxisMask& axis, std::int64_t residue) noexcept {
  const std::int64_t left = axis.length - residue;
  const std::int64_t length = left / axis.dilation + (left % axis.dilation != 0 ? 1 : 0);
  return {length, axis.window, axis.stride, axis.causal, axis.cyclic && axis.window < length};
}

/// The rule: tokens that query `query` (0-based, within its group) attends to. Never empty, always
/// contiguous; begin and end do not decrease with `query`. O(1).
///
/// Queries g*stride .. g*stride+stride-1 share a leader, whose window all of them take. The window holds
/// `window` tokens and is shifted inwards at the borders. Causal: the leader is the last query of the group,
/// and its window ends with it. Each query attends to the part of the window up to itself. Cyclic: the window
/// is not shifted: it goes on at the other end, so that begin may be negative or end past the length (not both).
/// The leader of a cut-off last group may be past the end too: as if the tokens were repeated on both sides.
[[nodiscard]] constexpr TokenRange attended_range(const AxisGroup& group, std::int64_t query) noexcept {
  const std::int64_t last = group.length - 1;
  const std::int64_t first_of_group = query / group.stride * group.stride;
  if (group.causal) {
    const std::int64_t leader =
        first_of_group + group.stride - 1 < last ? first_of_group + group.stride - 1 : last;
    const std::int64_t begin = leader - (group.window - 1);
    return {begin > 0 ? begin : 0, query + 1};
  }
  if (group.cyclic) {
    const std::int64_t begin = first_of_group + group.stride / 2 - group.window / 2;
    return {begin, begin + group.window};
  }
  const std::int64_t leader =
      first_of_group + group.stride / 2 < last ? first_of_group + group.stride / 2 : last;
  const std::int64_t left = group.window / 2;
  const std::int64_t right = group.window / 2 + group.window % 2 - 1;
  std::int64_t begin = leader > left ? leader - left : 0;
  if (leader + right >= group.length) begin += group.length - right - leader - 1;
  return {begin, begin + group.window};
}

/// The same of any token of the unrolled cycle, on which token x + length is token x again; without a cycle
/// `query` is within the group.
[[nodiscard]] constexpr TokenRange unrolled_range(const AxisGroup& group, std::int64_t query) noexcept {
  if (!group.cyclic) return attended_range(group, query);
  const std::int64_t rest = query % group.length;
  const std::int64_t inside = rest < 0 ? rest + group.length : rest, turns = query - inside;
  const TokenRange range = attended_range(group, inside);
  return {range.begin + turns, range.end + turns};
}

/// Tokens of its other end to put before and after an axis, so that windows that end at borders are those of
/// the cycle for the tokens between: half a window on both sides, before the axis in whole strides, so that
/// stride groups stay. None (0) for axes that are not cyclic.
struct AxisPadding {
  std::int64_t before = 0;
  std::int64_t after = 0;
};
[[nodiscard]] AxisPadding cycle_padding(const AxisMask& axis) noexcept;

/// Layout extents of the mask.
[[nodiscard]] Extents input_of(const NeighborhoodMask& mask);
[[nodiscard]] Extents window_of(const NeighborhoodMask& mask);
[[nodiscard]] Extents stride_of(const NeighborhoodMask& mask);
[[nodiscard]] Extents dilation_of(const NeighborhoodMask& mask);
[[nodiscard]] PerAxis<bool> causal_of(const NeighborhoodMask& mask);
[[nodiscard]] PerAxis<bool> cyclic_of(const NeighborhoodMask& mask);

}  // namespace natten_sim

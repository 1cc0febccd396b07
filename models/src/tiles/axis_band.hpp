#pragma once

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/tiling.hpp>

#include "tiles/divisor.hpp"

namespace natten_sim {

/// A non-decreasing staircase over tokens x >= 0: flat at `low` first, flat at `high` last, and between them
/// floor((x + phase) / step) * step + offset. Adding `step` to x there adds `step` to the value.
struct Staircase {
  std::int64_t low = 0, low_until = 0;
  std::int64_t high = 0, high_from = 0;
  Divisor step;
  std::int64_t phase = 0, offset = 0;

  [[nodiscard]] std::int64_t operator()(std::int64_t x) const noexcept {
    if (x < low_until) return low;
    if (x >= high_from) return high;
    return step.floor_multiple(x + phase) + offset;
  }
  [[nodiscard]] bool climbs_from(std::int64_t x) const noexcept { return x >= low_until && x < high_from; }
};

/// Which tokens of the streamed operand each token of the walked operand meets, along one axis of one
/// dilation group: begin(x) .. end(x) - 1, both staircases. Forward: keys of a query. Backward: queries of a
/// key.
///
/// Derivation. A window begins at clamp((i / s) * s + c, 0, L - w) with c = s/2 - w/2, causal: c = s - w; it
/// ends w later, causal: at i + 1. (The rule's own shift at the right border equals the clamp, since the
/// leader of the last group is at most L - 1 and s <= w.) The transposed staircases count the queries whose
/// window begins at or before a key, and those whose window ends at or before it. The `high` flat starts
/// where the value reaches L - w (forward) or L (backward), so that on the climb every end lies strictly
/// inside the axis.
struct AxisBand {
  std::int64_t length = 0;
  Staircase begin;
  Staircase end;
};

[[nodiscard]] AxisBand axis_band(const AxisGroup& group, Walk walk) noexcept;

}  // namespace natten_sim

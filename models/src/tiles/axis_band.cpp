#include "tiles/axis_band.hpp"

#include <algorithm>

namespace natten_sim {
namespace {

AxisBand forward_band(const AxisGroup& group, std::int64_t shift) noexcept {
  const Divisor stride(group.stride);
  const std::int64_t length = group.length;
  const std::int64_t last_begin = length - group.window;
  AxisBand band{.length = length, .begin = {}, .end = {}};
  // Stride groups whose unclamped begin is <= 0, and the first one that reaches last_begin; shift <= 0.
  const std::int64_t low_until = std::min(stride.floor_multiple(-shift) + group.stride, length);
  const std::int64_t high_from =
      std::min(stride.floor_multiple(last_begin - shift + group.stride - 1), length);
  band.begin = {.low = 0,
                .low_until = low_until,
                .high = last_begin,
                .high_from = high_from,
                .step = stride,
                .phase = 0,
                .offset = shift};
  if (group.causal) {
    band.end = {.low = 0,
                .low_until = 0,
                .high = length,
                .high_from = length - 1,
                .step = {},
                .phase = 0,
                .offset = 1};
  } else {
    band.end = {.low = group.window,
                .low_until = low_until,
                .high = length,
                .high_from = high_from,
                .step = stride,
                .phase = 0,
                .offset = shift + group.window};
  }
  return band;
}

AxisBand backward_band(const AxisGroup& group, std::int64_t shift) noexcept {
  const Divisor stride(group.stride);
  const std::int64_t length = group.length;
  AxisBand band{.length = length, .begin = {}, .end = {}};
  if (group.causal) {  // the first query that sees key k is k itself
    band.begin = {.low = 0,
                  .low_until = 0,
                  .high = length - 1,
                  .high_from = length - 1,
                  .step = {},
                  .phase = 0,
                  .offset = 0};
  } else {
    band.begin = {.low = 0,
                  .low_until = group.window,
                  .high = length,
                  .high_from = length,
                  .step = stride,
                  .phase = -group.window - shift,
                  .offset = group.stride};
  }
  band.end = {.low = 0,
              .low_until = 0,
              .high = length,
              .high_from = length - group.window,
              .step = stride,
              .phase = -shift,
              .offset = group.stride};
  return band;
}

}  // namespace

AxisBand axis_band(const AxisGroup& group, Walk walk) noexcept {
  const std::int64_t shift = group.causal ? group.stride - group.window : group.stride / 2 - group.window / 2;
  return walk == Walk::kForward ? forward_band(group, shift) : backward_band(group, shift);
}

}  // namespace natten_sim

#include "cycle_copies.hpp"

#include <cmath>
#include <string_view>
#include <variant>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/token_permutation.hpp>

#include "copies.hpp"
#include "count_time.hpp"
#include "found_costs.hpp"
#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

constexpr std::int64_t kPadded = 3;  // Q, K and V

/// Rows of all heads and batch elements, of Q, K and V.
std::int64_t row_bytes(const OperandSizes& sizes) {
  const std::int64_t values =
      sizes.heads * sizes.head_dim + sizes.heads_kv * (sizes.head_dim + sizes.head_dim_value);
  return checked_multiply(checked_multiply(sizes.batch, values, "bytes"), sizes.element_bytes, "bytes");
}

}  // namespace

std::int64_t padding_bytes(const NeighborhoodMask& mask, std::int64_t row_bytes) {
  Extents layout = input_of(mask);
  std::int64_t bytes = 0;
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
    const AxisPadding padding = cycle_padding(mask[axis]);
    if (padding.before + padding.after == 0) continue;
    layout[axis] += padding.before + padding.after;
    const std::int64_t copied = checked_multiply(product(layout, "tokens"), row_bytes, "bytes");
    bytes = checked_add(bytes, checked_multiply(2, copied, "bytes"), "bytes");
  }
  return bytes;
}

bool holds_rows(const Extents& tile, const Extents& input) {
  std::size_t axis = 0;
  while (axis < tile.rank() && tile[axis] == 1) ++axis;
  for (++axis; axis < tile.rank(); ++axis) {
    if (tile[axis] != input[axis]) return false;
  }
  return true;
}

std::optional<CycleCopies> cycle_copies(const Setting& setting, const NeighborhoodMask& mask,
                                        const TilePair& tiles, const Context& context) {
  if (!setting.device || !has_cycle(mask)) return std::nullopt;
  const Device& device = context.catalog.device(*setting.device);
  TimeQuestion timed = time_question(setting, mask, tiles, Walk::kForward, std::nullopt);
  timed.kernel = kCyclicKernel;
  const auto found = find_costs(timed, timed_kernel(kCyclicKernel, device, context.catalog), device, context.catalog);
  if (!std::holds_alternative<KernelCosts>(found)) return std::nullopt;
  const auto& costs = std::get<KernelCosts>(found);
  const auto rate = copy_rate(costs, device, mask.rank(), context.catalog.natten_release({}), context.catalog);
  if (!rate) return std::nullopt;
  const double launch_us = copy_launch_us(context.catalog);
  CycleCopies copies{.interval = rate->interval};
  std::int64_t axes = 0;
  for (const AxisMask& axis : mask) {
    const AxisPadding padding = cycle_padding(axis);
    axes += padding.before + padding.after > 0 ? 1 : 0;
  }
  copies.padding_ms = 1e-3 * static_cast<double>(kPadded * axes) * launch_us +
                      1e3 * static_cast<double>(padding_bytes(mask, row_bytes(timed.sizes))) / rate->into_bytes_per_s;
  if (holds_rows(tiles.q_tile, input_of(mask)) && holds_rows(tiles.kv_tile, input_of(mask))) return copies;
  for (const PermutedTensor& copy :
       token_permutation(mask, NattenBackend::kFlexFna, tiles, Walk::kForward, timed.sizes).copies) {
    if (std::string_view(copy.name) != "lse") copies.blocks_ms += copy_ms(copy, *rate, launch_us);
  }
  return copies;
}

std::optional<PaddedTime> padded_time(const CountAnswer& answer) {
  if (!answer.padded || !answer.cycle_copies || !answer.padded->time) return std::nullopt;
  const auto* time = std::get_if<PassTime>(&*answer.padded->time);
  if (time == nullptr || !answer.padded->kernel.forward) return std::nullopt;
  const double padding_ms = answer.cycle_copies->padding_ms, off = answer.cycle_copies->interval * padding_ms;
  const double total_ms = time->total_ms + padding_ms;
  return PaddedTime{total_ms, total_ms - std::hypot(time->total_ms - time->low_ms, off),
                    total_ms + std::hypot(time->high_ms - time->total_ms, off)};
}

}  // namespace natten_sim::study

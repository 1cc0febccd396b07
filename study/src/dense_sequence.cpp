#include "dense_sequence.hpp"

#include <algorithm>

#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/study/cell_costs.hpp>

namespace natten_sim::study {
namespace {

/// What takes the mask that a dense kernel lacks.
std::string instead_of(const std::string& kernel) {
  const std::string windows = "kernels of neighborhood attention, such as flexattention: " + kernel +
                              " has full masks, and causal ones on one axis";
  return kernel == "fa4" ? windows + "; lists of blocks by " + mention("mask") + ", as window:L,R" : windows;
}

std::string text_of(const NeighborhoodMask& mask) {
  std::string text = "with window " + to_string(window_of(mask));
  for (const AxisMask& axis : mask) {
    if (axis.causal) return text + ", causal";
  }
  return text;
}

/// Tiles of one pass. @throws InvalidParameter where the kernel has none.
TilePair own_tiles(const Setting& setting, const TimedKernel& kernel, Walk pass, const Catalog& catalog) {
  const CostCell cell{.kernel = kernel.name,
                      .device = *setting.device,
                      .head_dim = *setting.head_dim,
                      .dtype = *setting.dtype,
                      .pass = pass,
                      .q_tile_tokens = std::nullopt,
                      .kv_tile_tokens = std::nullopt};
  const auto found = costs_of_cell(cell, catalog);
  if (const auto* none = std::get_if<NoCosts>(&found))
    throw InvalidParameter("kernel", kernel.name, "kernels whose tiles are known: " + none->reason);
  const PassCosts& costs = *std::get<KernelCosts>(found).costs_of(pass);
  return {{costs.q_tile_tokens}, {costs.kv_tile_tokens}};
}

void require_tile(const char* name, const Extents& given, const Extents& own, const TimedKernel& kernel) {
  if (given.empty() || given == own) return;
  throw InvalidParameter(name, to_string(given), to_string(own) + ", the tile of " + kernel.name, to_string(own));
}

}  // namespace

void require_dense_mask(const std::string& kernel, const NeighborhoodMask& mask) {
  const bool fits = std::all_of(mask.begin(), mask.end(), [&](const AxisMask& axis) {
    return axis.window == axis.length && (!axis.causal || mask.rank() == 1);
  });
  if (!fits) throw InvalidParameter("kernel", kernel + " " + text_of(mask), instead_of(kernel));
}

std::optional<TimedKernel> named_dense_kernel(const CountQuestion& question, const Catalog& catalog) {
  if (!question.kernel) return std::nullopt;
  if (*question.kernel == "fmha") return TimedKernel{.name = "fmha", .dense = true};
  TimedKernel kernel = timed_kernel(*question.kernel, Device{}, catalog);
  return kernel.dense ? std::optional(std::move(kernel)) : std::nullopt;
}

Setting setting_of_sequence(const CountQuestion& question, const Catalog& catalog) {
  if (question.setting.backend)
    throw Conflict(mention("kernel"), mention("backend"), question.kernel->name + " by itself, whose tiles are its own");
  if (!question.setting.device) throw Missing(mention("kernel"), mention("device"));
  Setting setting = question.setting;
  setting.device = std::nullopt;  // what NATTEN would run there does not matter
  setting = resolved(setting, catalog);
  setting.device = catalog.device(*question.setting.device).name;
  return setting;
}

void take_sequence(const TimedKernel& kernel, const Catalog& catalog, CountQuestion& question) {
  const TilePair forward = own_tiles(question.setting, kernel, Walk::kForward, catalog);
  require_tile("q-tile", question.q_tile, forward.q_tile, kernel);
  require_tile("kv-tile", question.kv_tile, forward.kv_tile, kernel);
  const bool causal = std::find(question.causal.begin(), question.causal.end(), true) != question.causal.end();
  question.setting.input = question.window = {product(question.setting.input, "tokens")};
  question.stride = question.dilation = {1};
  question.causal = {causal};
  question.tiling = Tiling::kMultiDimensional;
  question.q_tile = forward.q_tile;
  question.kv_tile = forward.kv_tile;
  if (!question.backward) return;
  const TilePair backward = own_tiles(question.setting, kernel, Walk::kBackward, catalog);
  require_tile("backward-q-tile", question.backward_q_tile, backward.q_tile, kernel);
  require_tile("backward-kv-tile", question.backward_kv_tile, backward.kv_tile, kernel);
  question.backward_q_tile = backward.q_tile;
  question.backward_kv_tile = backward.kv_tile;
}

}  // namespace natten_sim::study

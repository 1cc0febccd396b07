#include "found_costs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace natten_sim::study {
namespace {

/// Tokens of the least tile that FlexAttention has.
constexpr std::int64_t kStepOfFlex = 16;

MissingTime missing(std::string sentence) { return {std::move(sentence)}; }

/// What else is timed on the device: "there are times on h200 of hopper-fna (head dim 128), ..".
std::string calibrated_on(const Device& device, const Catalog& catalog) {
  std::vector<std::pair<std::string, std::string>> kernels;
  for (const KernelCosts& costs : catalog.kernel_costs) {
    if (costs.device != device.name) continue;
    auto kernel = std::find_if(kernels.begin(), kernels.end(),
                               [&](const auto& each) { return each.first == costs.kernel; });
    if (kernel == kernels.end()) kernel = kernels.insert(kernels.end(), {costs.kernel, "head dim "});
    const bool first = kernel->second.ends_with(' ');
    kernel->second += (first ? "" : ", ") + std::to_string(costs.head_dim);
  }
  std::string text;
  for (const auto& [name, head_dims] : kernels)
    text +=
        (text.empty() ? "there are times on " + device.name + " of " : ", ") + name + " (" + head_dims + ")";
  return text.empty() ? "no kernel is calibrated on " + device.name : text;
}

/// A library's kernel that is compiled for tiles of several sizes runs lists of blocks with the first that divides them.
void take_tiles_of_blocks(const TimeQuestion& question, const Device& device, const Catalog& catalog, CostCell& cell) {
  const KernelPhysics* physics = catalog.physics.kernel_on(cell.kernel, device.architecture);
  const PhysicalPass* pass = physics == nullptr ? nullptr : physics->pass_of(cell.pass);
  const PhysicalTiles* own = pass == nullptr ? nullptr : pass->tiles_of(cell.head_dim);
  if (own == nullptr) return;
  for (const PhysicalTiles& tiles : pass->tiles) {
    if (tiles.head_dim != own->head_dim || question.tiles.q_tile[0] % tiles.q_tile_tokens != 0 ||
        question.tiles.kv_tile[0] % tiles.kv_tile_tokens != 0)
      continue;
    cell.q_tile_tokens = tiles.q_tile_tokens;
    cell.kv_tile_tokens = tiles.kv_tile_tokens;
    return;
  }
}

/// Why FlexAttention runs no such blocks; empty: it does. PyTorch refuses blocks that its tiles do not divide, and Triton
/// multiplies tiles of 16 and more.
std::string refusal_of_flex(const TilePair& tiles) {
  const std::int64_t q = product(tiles.q_tile, "q_tile"), kv = product(tiles.kv_tile, "kv_tile");
  if (q % kStepOfFlex == 0 && kv % kStepOfFlex == 0) return "";
  return std::string(kFlexAttention) + " takes blocks of multiples of " + std::to_string(kStepOfFlex) + " tokens (PyTorch: "
         "\"Q and KV block size must be divisible by BLOCK_M and BLOCK_N\", which are at least as large), not " +
         std::to_string(q) + " and " + std::to_string(kv);
}

}  // namespace

std::string measurement(const TimeQuestion& question, const std::string& kernel) {
  return "a few measured times of " + kernel + " at head dim " + std::to_string(question.sizes.head_dim) +
         (question.pass == Walk::kBackward ? " (backward)" : "") + " on " + question.device +
         " calibrate it";
}

CostCell cell_of(const TimeQuestion& question, const std::string& kernel, const Device& device) {
  return {.kernel = kernel,
          .device = device.name,
          .head_dim = question.sizes.head_dim,
          .dtype = question.dtype,
          .pass = question.pass,
          .q_tile_tokens = std::nullopt,
          .kv_tile_tokens = std::nullopt};
}

std::variant<KernelCosts, MissingTime> find_costs(const TimeQuestion& question, const TimedKernel& kernel,
                                                  const Device& device, const Catalog& catalog) {
  if (question.mask.rank() > 3) return missing("NATTEN's kernels have at most three axes");
  if (question.sizes.head_dim != question.sizes.head_dim_value)
    return missing("no kernel is calibrated with head dims of V that differ from those of Q and K");
  if (!device.sms) return missing("the number of SMs of " + device.name + " is not known");
  CostCell cell = cell_of(question, kernel.name, device);
  if (!kernel.dense) {
    cell.q_tile_tokens = product(question.tiles.q_tile, "q_tile");
    cell.kv_tile_tokens = product(question.tiles.kv_tile, "kv_tile");
  }
  if (kernel.library && question.ctas) take_tiles_of_blocks(question, device, catalog, cell);
  auto found = costs_of_cell(cell, catalog);
  if (auto* of_cell = std::get_if<KernelCosts>(&found)) {
    const bool measured = of_cell->passes.front().evidence.origin == CostOrigin::kMeasured;
    std::string reason = measured || kernel.name != kFlexAttention ? "" : refusal_of_flex(question.tiles);
    if (!reason.empty()) return missing(std::move(reason));
    return std::move(*of_cell);
  }
  const NoCosts& none = std::get<NoCosts>(found);
  if (none.impossible) return missing(none.reason);
  const KernelCosts* costs =
      catalog.costs_of(kernel.name, device.name, question.sizes.head_dim, question.dtype);
  if (costs == nullptr) {
    return missing("no measured times of " + kernel.name + " on " + device.name + " at head dim " +
                   std::to_string(question.sizes.head_dim) + " with " + to_string(question.dtype) + "; " +
                   measurement(question, kernel.name) + "; " + calibrated_on(device, catalog));
  }
  const PassCosts* pass = costs->costs_of(question.pass);
  if (pass == nullptr)
    return missing("no measured backward times of " + kernel.name + " on " + device.name + "; " +
                   measurement(question, kernel.name));
  return missing(kernel.name + " is calibrated on " + device.name + " with tiles of " +
                 std::to_string(pass->q_tile_tokens) + " x " + std::to_string(pass->kv_tile_tokens) +
                 " tokens, not " + std::to_string(cell.q_tile_tokens.value()) + " x " +
                 std::to_string(cell.kv_tile_tokens.value()) + "; " +
                 measurement(question, kernel.name));
}

}  // namespace natten_sim::study

#include <algorithm>
#include <utility>

#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/study/kernel_choice.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

PhysicalPass forward_of(const AttentionKernel& kernel) {
  PhysicalPass pass;
  pass.dtypes = kernel.dtype ? std::vector{*kernel.dtype} : std::vector{Dtype::kFp16, Dtype::kBf16};
  for (const KernelTile& tile : kernel.kv_tiles)
    pass.tiles.push_back({.head_dim = tile.head_dim,
                          .computed_head_dim = 0,
                          .q_tile_tokens = kernel.q_tile,
                          .kv_tile_tokens = tile.kv_tile,
                          .ctas_per_sm = kernel.ctas_per_sm,
                          .uneven = 1,
                          .variant = ""});
  std::sort(pass.tiles.begin(), pass.tiles.end(),
            [](const PhysicalTiles& a, const PhysicalTiles& b) { return a.head_dim < b.head_dim; });
  return pass;
}

/// Of masks that are not causal, where the file tells them apart: five products, as of all kernels that make dQ, dK and dV
/// in one pass, and a CTA of each KV tile.
PhysicalPass backward_of(const AttentionKernel& kernel) {
  PhysicalPass pass;
  pass.pass = Walk::kBackward;
  pass.products = 5;
  pass.dtypes = kernel.backward->dtypes;
  for (const KernelTile& tile : kernel.kv_tiles) {
    const std::optional<TileTokens> tokens = backward_tokens(kernel, tile.head_dim);
    if (!tokens) continue;
    pass.tiles.push_back({.head_dim = tile.head_dim,
                          .computed_head_dim = 0,
                          .q_tile_tokens = tokens->q,
                          .kv_tile_tokens = tokens->kv,
                          .ctas_per_sm = 1,
                          .uneven = 1,
                          .variant = ""});
  }
  std::sort(pass.tiles.begin(), pass.tiles.end(),
            [](const PhysicalTiles& a, const PhysicalTiles& b) { return a.head_dim < b.head_dim; });
  return pass;
}

/// Its tiles on each architecture, with the products that compilers make there: those of FlexAttention.
void add_physics(const AttentionKernel& kernel, TilePhysics& physics) {
  std::vector<KernelPhysics> added;
  for (const KernelPhysics& compiled : physics.kernels) {
    if (compiled.kernel != kFlexAttention) continue;
    KernelPhysics own{.kernel = kernel.name, .architectures = {}, .issue = compiled.issue, .head_dims = {},
                      .passes = {forward_of(kernel)}, .source = kernel.source};
    for (const std::string& architecture : compiled.architectures) {
      const std::vector<std::string>& all = kernel.architectures;
      if (all.empty() || std::find(all.begin(), all.end(), architecture) != all.end())
        own.architectures.push_back(architecture);
    }
    if (kernel.backward) own.passes.push_back(backward_of(kernel));
    if (own.passes.back().tiles.empty()) own.passes.pop_back();
    for (const PhysicalTiles& tile : own.passes.front().tiles) own.head_dims.push_back(tile.head_dim);
    if (!own.architectures.empty()) added.push_back(std::move(own));
  }
  physics.kernels.insert(physics.kernels.end(), added.begin(), added.end());
}

/// Nothing that was measured of a kernel that ships is true of another one of its name.
void forget_shipped(const std::string& name, Catalog& catalog) {
  const std::vector<KernelCosts>& shipped = builtin_catalog().kernel_costs;
  std::erase_if(catalog.kernel_costs, [&](const KernelCosts& costs) {
    return costs.kernel == name && std::find(shipped.begin(), shipped.end(), costs) != shipped.end();
  });
  std::erase_if(catalog.physics.kernels, [&](const KernelPhysics& each) { return each.kernel == name; });
}

/// The launches that the measured rates of a file are of: whole sequences, without a mask.
std::vector<KernelRun> measured_runs(const AttentionKernel& kernel, const Catalog& catalog) {
  std::vector<KernelRun> runs;
  for (const KernelRate& rate : kernel.rates) {
    const bool known = std::any_of(catalog.devices.begin(), catalog.devices.end(),
                                   [&](const Device& device) { return device.name == rate.device; });
    if (!rate.measured || !known || kernel.tile_of(rate.head_dim) == nullptr) continue;
    KernelRun run{.kernel = kernel.name, .device = rate.device};
    run.input = run.window = {rate.tokens};
    run.q_tile = {kernel.q_tile};
    run.kv_tile = {kernel.tile_of(rate.head_dim)->kv_tile};
    run.heads = rate.heads;
    run.head_dim = rate.head_dim;
    run.dtype = kernel.dtype.value_or(Dtype::kBf16);
    const auto tokens = static_cast<double>(rate.tokens);
    run.ms = 1e3 * 4 * tokens * tokens * static_cast<double>(rate.head_dim * rate.heads) / rate.flops_per_s;
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

const AttentionKernel* kernel_of_file(const Catalog& catalog, std::string_view name) {
  for (const AttentionKernel& kernel : catalog.kernels) {
    if (kernel.name == name && !kernel.file.empty()) return &kernel;
  }
  return nullptr;
}

std::optional<TileTokens> backward_tokens(const AttentionKernel& kernel, std::int64_t head_dim) {
  if (!kernel.backward) return std::nullopt;
  for (const MaskClass mask : {MaskClass::kFull, MaskClass::kWindow, MaskClass::kCausal}) {
    if (const KernelTiles* tiles = kernel.backward->tiles_of(head_dim, mask)) return tiles->tokens;
  }
  return std::nullopt;
}

WithKernels::WithKernels(const Context& context, const std::vector<KernelChoice>& choices) : given_(context) {
  for (const KernelChoice& choice : choices) {
    if (choice.own == nullptr) continue;
    const AttentionKernel* known = kernel_of_file(get().catalog, choice.name);
    if (known == nullptr || to_json(*known) != to_json(*choice.own)) add(choice);
  }
}

void WithKernels::add(const KernelChoice& choice) {
  if (!own_) own_ = given_;
  Catalog& catalog = own_->catalog;
  const AttentionKernel& kernel = *choice.own;
  forget_shipped(kernel.name, catalog);
  add_kernel(catalog, kernel);
  add_physics(kernel, catalog.physics);
  if (kernel.backward) {
    BackwardKernel backward = *kernel.backward;
    if (backward.architectures.empty()) {
      for (const Device& device : catalog.devices) backward.architectures.push_back(device.architecture);
    }
    std::erase_if(catalog.backward_kernels, [&](const BackwardKernel& each) { return each.name == kernel.name; });
    catalog.backward_kernels.push_back(std::move(backward));
  }
  const std::vector<KernelRun> runs = measured_runs(kernel, catalog);
  if (runs.empty()) return;
  Context quiet = *own_;
  quiet.progress = {};
  const std::vector<KernelCosts> measured =
      calibrate({.runs = runs, .source = "rates of " + kernel.file, .suggestions = 0}, quiet).entries;
  catalog.kernel_costs.insert(catalog.kernel_costs.end(), measured.begin(), measured.end());
}

}  // namespace natten_sim::study

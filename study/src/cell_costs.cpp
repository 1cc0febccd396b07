#include <natten_sim/study/cell_costs.hpp>
#include <natten_sim/study/kernel_choice.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim::study {
namespace {

const char* name_of(Walk pass) { return pass == Walk::kForward ? "forward" : "backward"; }

TileFit fit_of(const TilePhysics& physics) { return {physics.constants, physics.factors}; }

const Device* device_of(const std::string& name, const Catalog& catalog) {
  const auto found = std::find_if(catalog.devices.begin(), catalog.devices.end(),
                                  [&](const Device& device) { return device.name == name; });
  return found == catalog.devices.end() ? nullptr : &*found;
}

bool rates_known(const Device& device) {
  return device.sms && device.boost_clock_hz && device.dense_bf16_flops_per_s;
}

/// `cutlass-fna, fa2` of what runs on the device's architecture.
std::string kernels_on(const Device& device, const TilePhysics& physics) {
  std::vector<std::string> names;
  for (const KernelPhysics& kernel : physics.kernels) {
    if (kernel.runs_on(device.architecture)) names.push_back(kernel.kernel);
  }
  return names.empty() ? "no kernel" : joined(names);
}

std::string architectures_of(const std::string& kernel, const TilePhysics& physics) {
  std::vector<std::string> names;
  for (const KernelPhysics& each : physics.kernels) {
    if (each.kernel == kernel) names.insert(names.end(), each.architectures.begin(), each.architectures.end());
  }
  return joined(names);
}

std::string dtypes_of(const PhysicalPass& pass) {
  std::vector<std::string> names;
  for (const Dtype dtype : pass.dtypes) names.emplace_back(to_string(dtype));
  return joined(names);
}

bool has_head_dim(const KernelPhysics& kernel, std::int64_t head_dim) {
  constexpr std::int64_t kStep = 8;
  if (kernel.head_dims.empty()) return head_dim % kStep == 0;
  return std::find(kernel.head_dims.begin(), kernel.head_dims.end(), head_dim) != kernel.head_dims.end();
}

/// Why no such kernel exists; empty: it does.
std::string refusal(const CostCell& cell, const Device& device, const TilePhysics& physics) {
  const KernelPhysics* kernel = physics.kernel_on(cell.kernel, device.architecture);
  const std::string architectures = architectures_of(cell.kernel, physics);
  if (architectures.empty())
    return "nobody has measured " + cell.kernel + " on " + device.name + " at head dim " +
           std::to_string(cell.head_dim) + " " + name_of(cell.pass);
  if (kernel == nullptr)
    return cell.kernel + " runs on " + architectures + " alone, and " + device.name +
           " is " + device.architecture + "; there are " + kernels_on(device, physics) + " on it";
  const PhysicalPass* pass = kernel->pass_of(cell.pass);
  if (pass == nullptr) return cell.kernel + " has no " + name_of(cell.pass) + " pass";
  if (!has_head_dim(*kernel, cell.head_dim) || pass->tiles_of(cell.head_dim) == nullptr) {
    std::vector<std::string> dims;
    for (const std::int64_t each : kernel->head_dims) {
      if (pass->tiles_of(each) != nullptr) dims.push_back(std::to_string(each));
    }
    return cell.kernel + " has no times of head dim " + std::to_string(cell.head_dim) + " " + name_of(cell.pass) +
           "; there are those of " +
           (dims.empty() ? "multiples of 8 up to " + std::to_string(pass->tiles.back().head_dim) : joined(dims));
  }
  if (std::find(pass->dtypes.begin(), pass->dtypes.end(), cell.dtype) == pass->dtypes.end())
    return cell.kernel + " has no times with " + to_string(cell.dtype) + " " + name_of(cell.pass) + "; there are " +
           dtypes_of(*pass);
  return "";
}

/// A warp has 32 x 32 of a pair.
std::int64_t ctas_of_warps(std::int64_t warps, const PhysicalTiles& tiles) {
  return std::max<std::int64_t>(1, warps * 32 * 32 / (tiles.q_tile_tokens * tiles.kv_tile_tokens));
}

PhysicalTiles tiles_of(const CostCell& cell, const PhysicalPass& pass) {
  PhysicalTiles tiles = *pass.tiles_of(cell.head_dim);
  tiles.q_tile_tokens = cell.q_tile_tokens.value_or(tiles.q_tile_tokens);
  tiles.kv_tile_tokens = cell.kv_tile_tokens.value_or(tiles.kv_tile_tokens);
  if (pass.warps_per_sm > 0) tiles.ctas_per_sm = ctas_of_warps(pass.warps_per_sm, tiles);
  return tiles;
}

/// Kernels for Hopper and data center Blackwell are compiled for tiles of one size a head dim; others' tiles may
/// have any.
bool may_have_tiles(const CostCell& cell, const Device& device, const Catalog& catalog) {
  const TilePhysics& physics = catalog.physics;
  const KernelPhysics& kernel = *physics.kernel_on(cell.kernel, device.architecture);
  const PhysicalTiles& own = *kernel.pass_of(cell.pass)->tiles_of(cell.head_dim);
  const std::vector<PhysicalTiles>& compiled = kernel.pass_of(cell.pass)->tiles;
  const bool other = std::any_of(compiled.begin(), compiled.end(), [&](const PhysicalTiles& tiles) {
    return tiles.head_dim == own.head_dim && cell.q_tile_tokens == tiles.q_tile_tokens &&
           cell.kv_tile_tokens == tiles.kv_tile_tokens;
  });
  const bool any = other || kernel.issue == TensorIssue::kMmaSync || cell.kernel == "flexattention" ||
                   kernel_of_file(catalog, cell.kernel) != nullptr;
  return any || (cell.q_tile_tokens.value_or(own.q_tile_tokens) == own.q_tile_tokens &&
                 cell.kv_tile_tokens.value_or(own.kv_tile_tokens) == own.kv_tile_tokens);
}

double value_of(const std::vector<CostPrior>& priors, const char* name, double absent) {
  const auto found =
      std::find_if(priors.begin(), priors.end(), [&](const CostPrior& prior) { return prior.name == name; });
  return found == priors.end() ? absent : found->value;
}

/// A pair of `unmasked_us`; masks and CTAs as the priors have them.
PassCosts physical_costs(double unmasked_us, const CostCell& cell, const Catalog& catalog) {
  const std::vector<CostPrior> priors = catalog.cost_priors.of(cell.pass, cell.kernel, cell.head_dim);
  const double added = value_of(priors, "masked", 1) - 1, axis = value_of(priors, "axis", 1);
  PassCosts costs;
  costs.unmasked_tile_us = unmasked_us;
  costs.bounds_masked_tile_us = unmasked_us * value_of(priors, "bounds_masked", 1);
  costs.masked_tile_us = {unmasked_us * (1 + added / axis), unmasked_us * (1 + added),
                          unmasked_us * (1 + added * axis)};
  costs.cta_us = unmasked_us * value_of(priors, "cta_tiles", 0);
  costs.launch_us = value_of(priors, "launch_us", 0);
  costs.slowdown = value_of(priors, "slowdown", 0);
  costs.slowdown_ms = value_of(priors, "slowdown_ms", 1);
  costs.evidence.origin = CostOrigin::kPhysical;
  costs.evidence.kinds = {"unmasked"};
  costs.evidence.source = "from the instructions of a tile pair, fitted to other kernels (data/tile-physics.json)";
  return costs;
}

/// Those of `source`, for a pair that takes `unmasked_us`. Masks cost what their elements do, CTAs as many pairs.
PassCosts transferred_costs(const PassCosts& source, const TileCell& from, const TileCell& to, double unmasked_us,
                            std::int64_t ctas_per_sm) {
  PassCosts costs = source;
  const double elements = to.element_us / from.element_us * static_cast<double>(ctas_per_sm) /
                          static_cast<double>(source.ctas_per_sm);
  costs.unmasked_tile_us = unmasked_us;
  costs.bounds_masked_tile_us =
      unmasked_us + elements * std::max(0.0, source.bounds_masked_tile_us - source.unmasked_tile_us);
  for (std::size_t axes = 0; axes < costs.masked_tile_us.size(); ++axes) {
    costs.axes_tile_us[axes] = source.axes_tile_us[axes] * unmasked_us / source.unmasked_tile_us;
    const double masking = source.masked_tile_us[axes] - source.unmasked_tile_us - source.axes_tile_us[axes];
    costs.masked_tile_us[axes] = unmasked_us + costs.axes_tile_us[axes] + elements * std::max(0.0, masking);
  }
  costs.cta_us = source.cta_us * unmasked_us / source.unmasked_tile_us;
  if (from.kernel != to.kernel || from.head_dim != to.head_dim || ctas_per_sm != source.ctas_per_sm) {
    costs.causal_ctas_per_sm = 0;  // registers decide it
    costs.causal_two_axes = 1;
  }
  costs.evidence.origin = CostOrigin::kTransferred;
  costs.evidence.runs = 0;
  costs.evidence.left_out = std::nullopt;
  costs.evidence.judged = std::nullopt;
  costs.evidence.judged_by_length.clear();
  costs.evidence.fitted.clear();
  costs.evidence.source = "transferred from " + from.kernel + " on " + from.device + " at head dim " +
                          std::to_string(from.head_dim) + ": " + source.evidence.source;
  return costs;
}

KernelCosts derived_costs(const CostCell& cell, const Device& device, const Catalog& catalog) {
  const TilePhysics& physics = catalog.physics;
  const KernelPhysics& kernel = *physics.kernel_on(cell.kernel, device.architecture);
  const PhysicalPass& pass = *kernel.pass_of(cell.pass);
  const PhysicalTiles tiles = tiles_of(cell, pass);
  const TileCell target = tile_cell(kernel, pass, tiles, device, cell.head_dim, cell.dtype);
  const MeasuredCells measured = measured_cells(catalog);
  const Transfer transfer = transfer_of(target, measured.cells, fit_of(physics), physics.priors);
  const double unmasked_us = transfer.us * static_cast<double>(tiles.ctas_per_sm);
  PassCosts costs;
  if (transfer.sources.empty()) {
    costs = physical_costs(unmasked_us, cell, catalog);
  } else {
    const std::size_t from = transfer.sources.front();
    costs = transferred_costs(*measured.costs[from]->costs_of(cell.pass), measured.cells[from], target, unmasked_us,
                              tiles.ctas_per_sm);
    const Device* there = device_of(measured.cells[from].device, catalog);
    if (device.dram_bytes_per_s && there->dram_bytes_per_s)
      costs.prepared_bytes_per_s *= device.dram_bytes_per_s->value / there->dram_bytes_per_s->value;
  }
  costs.pass = cell.pass;
  costs.q_tile_tokens = tiles.q_tile_tokens;
  costs.kv_tile_tokens = tiles.kv_tile_tokens;
  costs.ctas_per_sm = tiles.ctas_per_sm;
  // What one alone gets of what all have: no less than an even share.
  if (costs.lone_share > 0) costs.lone_share = std::max(costs.lone_share, 1.0 / static_cast<double>(costs.ctas_per_sm));
  if (costs.ctas_per_sm == 1) costs.lone_share = 0;
  const bool other_type = element_bytes(cell.dtype) != 2;  // of which nobody measured a cell
  const TransferKind kind = other_type ? TransferKind::kPhysical : transfer.kind;
  costs.evidence.transfer = to_string(kind);
  const TransferError* error = physics.error_of(kind);
  constexpr double kUnknown = 2;
  const double own = kind == TransferKind::kSameProgram ? costs.evidence.interval : 0;  // of others a small part
  costs.evidence.interval = error == nullptr ? kUnknown : std::hypot(error->interval, own);
  costs.evidence.points = error == nullptr ? 0 : error->points;
  return {.kernel = cell.kernel,
          .device = cell.device,
          .head_dim = cell.head_dim,
          .dtypes = {cell.dtype},
          .passes = {std::move(costs)}};
}

}  // namespace

const KernelCosts* measured_entry(const CostCell& cell, const Catalog& catalog) {
  for (const KernelCosts& costs : catalog.kernel_costs) {
    const PassCosts* pass = costs.costs_of(cell.pass);
    if (pass == nullptr || costs.kernel != cell.kernel || costs.device != cell.device || costs.head_dim != cell.head_dim ||
        std::find(costs.dtypes.begin(), costs.dtypes.end(), cell.dtype) == costs.dtypes.end())
      continue;
    if (cell.q_tile_tokens.value_or(pass->q_tile_tokens) == pass->q_tile_tokens &&
        cell.kv_tile_tokens.value_or(pass->kv_tile_tokens) == pass->kv_tile_tokens)
      return &costs;
  }
  return nullptr;
}

MeasuredCells measured_cells(const Catalog& catalog) {
  MeasuredCells measured;
  for (const KernelCosts& costs : catalog.kernel_costs) {
    const Device* device = device_of(costs.device, catalog);
    if (device == nullptr || !rates_known(*device) || element_bytes(costs.dtypes.front()) != 2) continue;
    const KernelPhysics* kernel = catalog.physics.kernel_on(costs.kernel, device->architecture);
    if (kernel == nullptr) continue;
    for (const PassCosts& pass : costs.passes) {
      const PhysicalPass* physical = kernel->pass_of(pass.pass);
      if (physical == nullptr || physical->tiles_of(costs.head_dim) == nullptr) continue;
      const CostCell cell{costs.kernel, costs.device, costs.head_dim, costs.dtypes.front(), pass.pass, pass.q_tile_tokens, pass.kv_tile_tokens};
      if (measured_entry(cell, catalog) != &costs) continue;
      PhysicalTiles tiles = *physical->tiles_of(costs.head_dim);
      tiles.q_tile_tokens = pass.q_tile_tokens;
      tiles.kv_tile_tokens = pass.kv_tile_tokens;
      measured.cells.push_back(
          tile_cell(*kernel, *physical, tiles, *device, costs.head_dim, costs.dtypes.front()));
      measured.cells.back().us = pass.unmasked_tile_us / static_cast<double>(pass.ctas_per_sm);
      measured.costs.push_back(&costs);
    }
  }
  return measured;
}

TilePhysics fitted_physics(const Catalog& catalog) {
  TilePhysics physics = catalog.physics;
  const std::vector<TileCell> cells = measured_cells(catalog).cells;
  const TileFit fit = fit_tiles(cells, physics.priors);
  physics.constants = fit.constants;
  physics.factors = fit.factors;
  physics.transfers = transfer_errors(leave_out_cells(cells, physics.priors), cells);
  return physics;
}

std::variant<KernelCosts, NoCosts> costs_of_cell(const CostCell& cell, const Catalog& catalog) {
  if (const KernelCosts* costs = measured_entry(cell, catalog)) {
    KernelCosts found{costs->kernel, costs->device, costs->head_dim, costs->dtypes, {*costs->costs_of(cell.pass)}, costs->permutation};
    return found;
  }
  const KernelCosts* costs = catalog.costs_of(cell.kernel, cell.device, cell.head_dim, cell.dtype);
  if (catalog.physics.kernels.empty()) return NoCosts{"nobody has measured it", false};
  const Device& device = catalog.device(cell.device);
  const std::string reason = refusal(cell, device, catalog.physics);
  if (!reason.empty()) return NoCosts{reason, true};
  if (!may_have_tiles(cell, device, catalog)) return NoCosts{"nobody has measured these tiles", false};
  if (!rates_known(device))
    return NoCosts{"SMs, boost clock or tensor rate of " + device.name + " are not known", false};
  KernelCosts derived = derived_costs(cell, device, catalog);
  if (costs != nullptr) derived.permutation = costs->permutation;
  return derived;
}

std::vector<CoverageCell> coverage(const Catalog& catalog) {
  std::vector<std::string> kernels;
  const auto add = [&](const std::string& kernel) {
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) kernels.push_back(kernel);
  };
  for (const KernelPhysics& kernel : catalog.physics.kernels) add(kernel.kernel);
  // Without physics, as with --measured-only, those that were measured.
  if (kernels.empty()) {
    for (const KernelCosts& costs : catalog.kernel_costs) add(costs.kernel);
  }
  std::vector<CoverageCell> rows;
  for (const Device& device : catalog.devices) {
    for (const std::string& kernel : kernels) {
      for (const std::int64_t head_dim : {32, 64, 96, 128, 256}) {
        for (const Dtype dtype : {Dtype::kBf16, Dtype::kE4m3}) {
          for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
            CoverageCell row{.cell = {kernel, device.name, head_dim, dtype, pass, {}, {}}};
            const auto found = costs_of_cell(row.cell, catalog);
            if (const auto* costs = std::get_if<KernelCosts>(&found)) row.evidence = costs->passes.front().evidence;
            if (const auto* none = std::get_if<NoCosts>(&found)) row.missing = *none;
            rows.push_back(std::move(row));
          }
        }
      }
    }
  }
  return rows;
}

}  // namespace natten_sim::study

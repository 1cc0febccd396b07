#include <algorithm>

#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/study/setting.hpp>

namespace natten_sim::study {
namespace {

void require_in(const char* parameter, std::int64_t value, std::int64_t hi) {
  if (value < 1 || value > hi)
    throw InvalidParameter(parameter, std::to_string(value), "1.." + std::to_string(hi),
                           std::to_string(value < 1 ? 1 : hi));
}

void resolve_multipliers(const Preset* preset, Setting& setting) {
  if (!setting.heads) setting.heads = preset ? preset->heads : kDefaultHeads;
  if (!setting.head_dim) setting.head_dim = preset ? preset->head_dim : kDefaultHeadDim;
  if (!setting.head_dim_value) setting.head_dim_value = setting.head_dim;
  if (!setting.heads_kv) setting.heads_kv = setting.heads;
  require_in("batch-size", setting.batch, kMaxBatch);
  require_in("heads", *setting.heads, kMaxHeads);
  require_in("heads-kv", *setting.heads_kv, kMaxHeads);
  if (*setting.heads % *setting.heads_kv != 0) {
    throw InvalidParameter("heads-kv", std::to_string(*setting.heads_kv),
                           "a divisor of the heads, " + std::to_string(*setting.heads));
  }
}

void resolve_share(const Preset* preset, Setting& setting) {
  if (!setting.attention_share && preset) setting.attention_share = preset->attention_share;
  if (!setting.attention_share) {
    if (!setting.dense_steps) return;
    throw Missing(mention("dense-steps"), mention("attention-share"));
  }
  if (setting.dense_steps) return;
  setting.dense_steps = {0, 1};
  if (preset) setting.dense_steps = {preset->dense_steps.value_or(0), preset->steps.value_or(1)};
}

void require_supported(Dtype dtype, const Backend& backend) {
  if (backend.dtypes.empty() ||
      std::find(backend.dtypes.begin(), backend.dtypes.end(), to_string(dtype)) != backend.dtypes.end())
    return;
  throw InvalidParameter("dtype", to_string(dtype), joined(backend.dtypes) + " (" + backend.name + ")");
}

/// The device's backend, unless NATTEN passes it over for one that runs.
std::string backend_on(const Device& device, const Setting& setting, bool with_backward,
                       const Catalog& catalog) {
  const std::optional<NattenCall> call = dispatch_call(setting, device, with_backward);
  if (catalog.natten.empty() || !call) return device.default_backend;
  const BackendChoice choice = choose_backend(catalog.natten_release(setting.natten), *call);
  const bool passed_over = std::any_of(
      choice.passed_over.begin(), choice.passed_over.end(),
      [&](const PassedOverBackend& each) { return device.default_backend == to_string(each.backend); });
  return passed_over && !choice.refusal ? to_string(choice.backend) : device.default_backend;
}

}  // namespace

std::optional<NattenCall> dispatch_call(const Setting& setting, const Device& device, bool with_backward) {
  const std::optional<std::int64_t> capability = compute_capability(device);
  if (!capability) return std::nullopt;
  NattenCall call;
  call.heads = setting.heads.value();
  call.heads_kv = setting.heads_kv.value();
  call.head_dim = setting.head_dim.value();
  call.head_dim_value = setting.head_dim_value.value();
  call.dtype = setting.dtype.value();
  call.compute_capability = *capability;
  call.requires_grad = with_backward;
  call.deterministic = setting.deterministic;
  return call;
}

namespace {

void raise_in_words_of(const NattenRefusal& refusal) {
  throw InvalidParameter(refusal.parameter, refusal.value, refusal.accepted + " (NATTEN: " + refusal.rule + ")",
                         refusal.nearest);
}

/// NATTEN's reason where none of its backends runs the type on the device.
void require_some_type(const Setting& setting, const Catalog& catalog) {
  const std::optional<NattenCall> call = dispatch_call(setting, catalog.device(*setting.device), false);
  if (!call || catalog.natten.empty()) return;
  const BackendChoice choice = choose_backend(catalog.natten_release(setting.natten), *call);
  if (choice.refusal && choice.refusal->parameter == "dtype") raise_in_words_of(*choice.refusal);
}

}  // namespace

Setting resolved(const Setting& setting, const Catalog& catalog, bool with_backward) {
  Setting result = setting;
  const Preset* preset = setting.preset ? &catalog.preset(*setting.preset) : nullptr;
  if (preset) result.preset = preset->name;
  if (setting.natten || !catalog.natten.empty())
    result.natten = catalog.natten_release(setting.natten).version;
  if (setting.input.empty() && preset) result.input = preset->layout;
  resolve_multipliers(preset, result);
  resolve_share(preset, result);
  if (!result.dtype) result.dtype = kDefaultDtype;
  if (setting.device) {
    const Device& device = catalog.device(*setting.device);
    result.device = device.name;
    if (!setting.backend) result.backend = backend_on(device, result, with_backward, catalog);
  }
  if (setting.backend) result.backend = catalog.backend(*setting.backend).name;
  if (setting.device && !setting.backend && setting.dtype) require_some_type(result, catalog);
  if (result.backend && setting.dtype) require_supported(*setting.dtype, catalog.backend(*result.backend));
  return result;
}

bool asks_cycle(const PerAxis<bool>& cyclic) { return std::find(cyclic.begin(), cyclic.end(), true) != cyclic.end(); }

void require_cyclic_kernel(const std::string& kernel) {
  if (kernel == kCyclicKernel) return;
  throw InvalidParameter("kernel", kernel,
                         std::string(kCyclicKernel) + ": no other kernel has windows that go round a cyclic axis",
                         kCyclicKernel);
}

Workload workload_of(const Setting& setting) {
  return {.batch = setting.batch,
          .heads = setting.heads.value(),
          .head_dim = setting.head_dim.value(),
          .head_dim_value = setting.head_dim_value.value()};
}

std::optional<AttentionShare> share_of(const Setting& setting) {
  if (!setting.attention_share) return std::nullopt;
  const StepRatio steps = setting.dense_steps.value_or(StepRatio{});
  return AttentionShare{*setting.attention_share, steps.part, steps.whole};
}

namespace {

/// NATTEN's reason where none of its backends runs the head dims and the type on the device.
void require_some_backend(const Setting& setting, const Catalog& catalog) {
  const bool whole = setting.heads && setting.heads_kv && setting.head_dim_value && setting.dtype;
  if (!whole || !setting.device || catalog.natten.empty()) return;
  const std::optional<NattenCall> call = dispatch_call(setting, catalog.device(*setting.device), false);
  if (!call) return;
  const BackendChoice choice = choose_backend(catalog.natten_release(setting.natten), *call);
  if (choice.refusal) raise_in_words_of(*choice.refusal);
}

}  // namespace

const Backend& effective_backend(const Setting& setting, const Catalog& catalog) {
  return catalog.backend(setting.backend.value_or(kDefaultBackend));
}

KvTiling effective_kv_tiling(std::optional<KvTiling> wanted, const Setting& setting, const Catalog& catalog) {
  if (wanted) return *wanted;
  return setting.backend ? catalog.backend(*setting.backend).kv_tiling : kDefaultKvTiling;
}

ChosenTiles choose_tiles(const Setting& setting, const Catalog& catalog, const Extents& q_tile,
                         const Extents& kv_tile, std::size_t tile_rank, Walk pass) {
  const Backend& backend = effective_backend(setting, catalog);
  if (!q_tile.empty() && !kv_tile.empty()) {
    const TilePair tiles{q_tile, kv_tile};
    const std::vector<BackendTiles>& table = pass == Walk::kForward ? backend.forward : backend.backward;
    const bool known = std::any_of(table.begin(), table.end(), [&](const BackendTiles& entry) {
      return entry.tiles == tiles && (!entry.head_dim || entry.head_dim == setting.head_dim);
    });
    return {tiles, known ? std::optional(backend.name) : std::nullopt, false};
  }
  if (q_tile.empty() && kv_tile.empty() && tile_rank <= backend.default_tiles.size()) {
    const NattenDefaultTiles& tiles = backend.default_tiles[tile_rank - 1];
    if (const std::optional<TilePair>& own = pass == Walk::kForward ? tiles.forward : tiles.backward)
      return {*own, backend.name, true};
  }
  require_some_backend(setting, catalog);
  const std::vector<TilePair> pairs = tile_pairs(backend, tile_rank, setting.head_dim.value(), pass);
  const auto match = std::find_if(pairs.begin(), pairs.end(), [&](const TilePair& pair) {
    return (q_tile.empty() || pair.q_tile == q_tile) && (kv_tile.empty() || pair.kv_tile == kv_tile);
  });
  if (match == pairs.end()) {
    const bool has_q = !q_tile.empty();
    throw InvalidParameter(has_q ? "q_tile" : "kv_tile", to_string(has_q ? q_tile : kv_tile),
                           "both tile shapes, or one that " + backend.name + " implements");
  }
  return {*match, backend.name, true};
}

}  // namespace natten_sim::study

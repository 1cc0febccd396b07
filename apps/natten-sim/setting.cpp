#include "setting.hpp"

#include <algorithm>

#include <natten_sim/core/error.hpp>

#include "output.hpp"
#include "values.hpp"

namespace natten_sim::cli {
namespace {

constexpr std::int64_t kMost = kMaxAxisLength;

/// NATTEN's profiler defaults: batch 1, heads 1, head dim 64, fp16.
void read_multipliers(const Arguments& arguments, Setting& setting) {
  const auto integer = [&](const char* name, std::int64_t fallback) {
    return arguments.has(name) ? parse_integer(name, arguments.text(name), 1, kMost) : fallback;
  };
  const Preset* preset = setting.preset ? &*setting.preset : nullptr;
  setting.workload.batch = integer("batch-size", 1);
  setting.workload.heads = integer("heads", preset ? preset->heads : 1);
  setting.workload.head_dim = integer("dim", preset ? preset->head_dim : 64);
  setting.workload.head_dim_value = integer("dim-value", setting.workload.head_dim);
  setting.heads_kv = integer("heads-kv", setting.workload.heads);
  if (setting.workload.heads % setting.heads_kv != 0) {
    throw InvalidParameter("heads-kv", std::to_string(setting.heads_kv),
                           "a divisor of the heads, " + std::to_string(setting.workload.heads));
  }
  setting.dtype = arguments.text("dtype", "fp16");
  if (arguments.has("add-kv")) setting.add_kv = parse_integer("add-kv", arguments.text("add-kv"), 0, kMost);
}

void read_share(const Arguments& arguments, Setting& setting) {
  const Preset* preset = setting.preset ? &*setting.preset : nullptr;
  std::optional<double> fraction = preset ? preset->attention_share : std::nullopt;
  if (arguments.has("attention-share")) {
    fraction = parse_number("attention-share", arguments.text("attention-share"), 0, 1, "a fraction in 0..1");
  }
  if (!fraction) {
    if (arguments.has("dense-steps")) {
      throw InvalidParameter("dense-steps", arguments.text("dense-steps"), "together with --attention-share");
    }
    return;
  }
  AttentionShare share{*fraction, 0, 1};
  if (arguments.has("dense-steps")) {
    std::tie(share.dense_steps, share.steps) = parse_ratio("dense-steps", arguments.text("dense-steps"));
  } else if (preset != nullptr && preset->steps) {
    share.steps = *preset->steps;  // the preset's own dense steps are a choice: list shows them
  }
  setting.share = share;
}

void require_supported(const Setting& setting, const Arguments& arguments) {
  if (setting.backend.empty() || !arguments.has("dtype")) return;
  const Backend& backend = setting.catalog.backend(setting.backend);
  if (backend.dtypes.empty() ||
      std::find(backend.dtypes.begin(), backend.dtypes.end(), setting.dtype) != backend.dtypes.end())
    return;
  std::string known;
  for (const std::string& dtype : backend.dtypes) known += (known.empty() ? "" : ", ") + dtype;
  throw InvalidParameter("dtype", setting.dtype, known + " (" + backend.name + ")");
}

}  // namespace

Catalog read_catalog(const Arguments& arguments) {
  Catalog catalog = builtin_catalog();
  if (arguments.has("preset-file")) {
    const std::string path = arguments.text("preset-file");
    add_presets(catalog, read_file("preset-file", path), "preset file " + path);
  }
  if (arguments.has("device-file")) {
    const std::string path = arguments.text("device-file");
    add_devices(catalog, read_file("device-file", path), "device file " + path);
  }
  return catalog;
}

std::vector<OptionSpec> setting_options() {
  return {
      {"-i,--input,--input-size", "N", "Token layout, one size an axis (30 48 80, 30x48x80 or 30,48,80)", 4,
       ""},
      {"--preset", "NAME", "Layout, heads, head dim and attention share of a known model (see list presets)",
       1, ""},
      {"--preset-file", "FILE", "More presets, as JSON", 1, ""},
      {"--device", "NAME", "Take the backend that suits a GPU (see list devices)", 1, ""},
      {"--device-file", "FILE", "More devices, as JSON", 1, ""},
      {"--backend", "NAME",
       "Take tile shapes and KV tiling from a backend (see list backends) [blackwell-fna]", 1, ""},
      {"-d,--dim,--head-dim", "D", "Head dim of Q and K [the preset's, or 64]", 1, ""},
      {"--dim-value", "D", "Head dim of V [that of Q and K]", 1, ""},
      {"-n,--heads", "N", "Heads [the preset's, or 1]", 1, ""},
      {"--heads-kv", "N", "KV heads, a divisor of the heads [heads]", 1, ""},
      {"-b,--batch-size", "N", "Batch size [1]", 1, ""},
      {"--dtype", "TYPE", "Element type [fp16]", 1, "fp16 bf16 fp32 e4m3 e5m2"},
      {"--attention-share", "P", "Attention's share of the end-to-end time, 0..1, for end-to-end speedups", 1,
       ""},
      {"--dense-steps", "K/N", "K of N steps keep dense attention, for end-to-end speedups [none]", 1, ""},
  };
}

Setting read_setting(const Arguments& arguments) {
  Setting setting;
  setting.catalog = read_catalog(arguments);
  if (arguments.has("preset")) setting.preset = setting.catalog.preset(arguments.text("preset"));
  if (arguments.has("input")) {
    setting.input = parse_extents("input", arguments.values("input"));
  } else if (setting.preset) {
    setting.input = setting.preset->layout;
  }
  if (arguments.has("device")) {
    setting.device = setting.catalog.device(arguments.text("device")).name;
    setting.backend = setting.catalog.device(setting.device).default_backend;
  }
  if (arguments.has("backend")) setting.backend = setting.catalog.backend(arguments.text("backend")).name;
  read_multipliers(arguments, setting);
  read_share(arguments, setting);
  require_supported(setting, arguments);
  return setting;
}

const Backend& effective_backend(const Setting& setting) {
  return setting.catalog.backend(setting.backend.empty() ? kDefaultBackend : setting.backend);
}

KvTiling effective_kv_tiling(const Setting& setting, const Arguments& arguments) {
  if (arguments.has("kv-tiling"))
    return arguments.text("kv-tiling") == "dynamic" ? KvTiling::kDynamic : KvTiling::kStatic;
  return setting.backend.empty() ? KvTiling::kStatic : effective_backend(setting).kv_tiling;
}

ChosenTiles choose_tiles(const Setting& setting, const Extents& q_tile, const Extents& kv_tile,
                         std::size_t tile_rank, Walk pass) {
  const Backend& backend = effective_backend(setting);
  if (!q_tile.empty() && !kv_tile.empty()) {
    const TilePair tiles{q_tile, kv_tile};
    const std::vector<BackendTiles>& table = pass == Walk::kForward ? backend.forward : backend.backward;
    const bool known = std::any_of(table.begin(), table.end(), [&](const BackendTiles& entry) {
      return entry.tiles == tiles && (!entry.head_dim || *entry.head_dim == setting.workload.head_dim);
    });
    return {tiles, known ? backend.name : "", false};
  }
  const std::vector<TilePair> pairs = tile_pairs(backend, tile_rank, setting.workload.head_dim, pass);
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

}  // namespace natten_sim::cli

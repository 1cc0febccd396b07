#include <fmt/format.h>

#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

Json preset_json(const Preset& preset) {
  Json windows = Json::array();
  for (const PublishedWindow& window : preset.windows) {
    Json entry;
    entry["window"] = to_json(window.window);
    if (!window.dilation.empty()) entry["dilation"] = to_json(window.dilation);
    entry["q_tile"] = window.tiles ? to_json(window.tiles->q_tile) : Json();
    entry["kv_tile"] = window.tiles ? to_json(window.tiles->kv_tile) : Json();
    entry["strides"] = Json::array();
    for (const Extents& stride : window.strides) entry["strides"].push_back(to_json(stride));
    entry["source"] = window.source;
    windows.push_back(entry);
  }
  return {{"name", preset.name},
          {"description", preset.description},
          {"layout", to_json(preset.layout)},
          {"heads", preset.heads},
          {"head_dim", preset.head_dim},
          {"attention_share", nullable(preset.attention_share)},
          {"steps", nullable(preset.steps)},
          {"dense_steps", nullable(preset.dense_steps)},
          {"windows", windows},
          {"source", preset.source}};
}

Json backend_json(const Backend& backend) {
  const auto tiles = [](const std::vector<BackendTiles>& table) {
    Json array = Json::array();
    for (const BackendTiles& entry : table) {
      array.push_back({{"q_tile", to_json(entry.tiles.q_tile)},
                       {"kv_tile", to_json(entry.tiles.kv_tile)},
                       {"head_dim", nullable(entry.head_dim)},
                       {"variant", entry.variant.empty() ? Json() : Json(entry.variant)}});
    }
    return array;
  };
  return {{"name", backend.name},
          {"architectures", backend.architectures},
          {"dtypes", backend.dtypes},
          {"kv_tiling", to_string(backend.kv_tiling)},
          {"forward", tiles(backend.forward)},
          {"backward", tiles(backend.backward)},
          {"source", backend.source}};
}

Json device_json(const Device& device) {
  Json values = Json::object();
  for (const DeviceNumber& value : known_numbers(device)) {
    const bool whole = value.value == static_cast<double>(static_cast<std::int64_t>(value.value));
    values[value.name] = {{"value", whole ? Json(static_cast<std::int64_t>(value.value)) : Json(value.value)},
                          {"measured", value.measured},
                          {"source", value.source}};
  }
  return {{"name", device.name},
          {"title", device.title},
          {"architecture", device.architecture},
          {"default_backend", device.default_backend},
          {"values", values}};
}

std::string presets_text(const Catalog& catalog) {
  std::vector<std::vector<std::string>> rows = {
      {"preset", "layout", "heads x dim", "attention", "steps", "windows in publications"}};
  std::string sources = "\nSources of the layouts:\n";
  for (const Preset& preset : catalog.presets) {
    std::string windows;
    for (const PublishedWindow& window : preset.windows) {
      windows += (windows.empty() ? "" : ", ") + to_string(window.window);
      if (!window.dilation.empty()) windows += " (dilation " + to_string(window.dilation) + ")";
    }
    rows.push_back({preset.name, to_string(preset.layout),
                    fmt::format("{} x {}", preset.heads, preset.head_dim),
                    preset.attention_share ? fmt::format("{:.1f}%", 100.0 * *preset.attention_share) : "",
                    !preset.steps        ? ""
                    : preset.dense_steps ? fmt::format("{} ({} dense)", *preset.steps, *preset.dense_steps)
                                         : std::to_string(*preset.steps),
                    windows});
    sources += "  " + preset.name + ": " + (preset.description.empty() ? "" : preset.description + "; ") +
               preset.source + "\n";
  }
  return text_table(rows, LastColumn::kLeft) + sources;
}

std::string backends_text(const Catalog& catalog) {
  std::string text;
  for (const Backend& backend : catalog.backends) {
    std::string architectures;
    for (const std::string& name : backend.architectures)
      architectures += (architectures.empty() ? "" : ", ") + name;
    text +=
        fmt::format("{}   {} KV tiling   {}\n", backend.name, to_string(backend.kv_tiling), architectures);
    for (const auto& [label, table] :
         {std::pair{"forward", &backend.forward}, std::pair{"backward", &backend.backward}}) {
      for (std::size_t rank = 1; rank <= 3; ++rank) {
        std::vector<std::string> lines;
        std::string line;
        std::size_t shown = 0, all = 0;
        for (const BackendTiles& entry : *table) {
          if (entry.tiles.q_tile.rank() != rank) continue;
          const std::string pair =
              fmt::format("{}/{}{}", to_string(entry.tiles.q_tile), to_string(entry.tiles.kv_tile),
                          entry.head_dim ? fmt::format(" (d {})", *entry.head_dim) : "");
          ++all;
          if (shown < 8 && line.find(pair) == std::string::npos) {
            line += (line.empty() ? "" : "  ") + pair;
            ++shown;
          }
        }
        if (!line.empty())
          text += fmt::format("  {} {}-D, Q/KV: {}{}\n", label, rank, line,
                              all > 8 ? fmt::format("  .. {} entries, all with --json", all) : "");
      }
    }
    text += "  source: " + backend.source + "\n\n";
  }
  return text;
}

std::string devices_text(const Catalog& catalog) {
  std::string text;
  for (const Device& device : catalog.devices) {
    text += fmt::format("{}   {}   {}   default backend {}\n", device.name, device.title, device.architecture,
                        device.default_backend);
    for (const DeviceNumber& value : known_numbers(device)) {
      text += fmt::format("  {} = {:.12g}{}   [{}]\n", value.name, value.value,
                          value.measured ? " (measured)" : "", value.source);
    }
    text += "\n";
  }
  return text;
}

Json kernel_json(const AttentionKernel& kernel) {
  Json tiles = Json::array(), rates = Json::array();
  for (const KernelTile& tile : kernel.kv_tiles)
    tiles.push_back({{"head_dim", tile.head_dim}, {"kv_tile", tile.kv_tile}});
  for (const KernelRate& rate : kernel.rates) {
    rates.push_back({{"device", rate.device},
                     {"head_dim", rate.head_dim},
                     {"flops_per_s", rate.flops_per_s},
                     {"tokens", rate.tokens},
                     {"heads", rate.heads},
                     {"lone_share", rate.lone_share},
                     {"slot_skew", rate.slot_skew},
                     {"jitter", rate.jitter},
                     {"measured", rate.measured},
                     {"source", rate.source}});
  }
  return {{"name", kernel.name},
          {"title", kernel.title},
          {"q_tile", kernel.q_tile},
          {"kv_tiles", tiles},
          {"schedule", to_string(kernel.schedule)},
          {"order", to_string(kernel.order)},
          {"ctas_per_sm", kernel.ctas_per_sm},
          {"rates", rates},
          {"source", kernel.source}};
}

/// hopper-fna on h200, head dim 128: forward 7 runs, off by 3.5% on runs left out
std::string times_text(const Catalog& catalog) {
  std::string text = "Times (natten-sim count --kernel NAME --device NAME):\n";
  for (const KernelCosts& costs : catalog.kernel_costs) {
    std::string types;
    for (const Dtype dtype : costs.dtypes)
      types += (types.empty() ? "" : "/") + std::string(to_string(dtype));
    text += fmt::format("{} on {}, head dim {}, {}\n", costs.kernel, costs.device, costs.head_dim, types);
    for (const PassCosts& pass : costs.passes) {
      const CostEvidence& evidence = pass.evidence;
      text += fmt::format("  {}: {} run{} ({})", pass.pass == Walk::kForward ? "forward" : "backward",
                          evidence.runs, evidence.runs == 1 ? "" : "s", joined(evidence.kinds));
      text += evidence.left_out
                  ? fmt::format(", off by {:.1f}% on average and {:.1f}% at worst on runs left out",
                                100 * evidence.left_out->mean, 100 * evidence.left_out->worst)
                  : ", nothing to hold them against";
      text += fmt::format("; stated interval {:.0f}%   [{}]\n", 100 * evidence.interval, evidence.source);
    }
  }
  return text;
}

std::string kernels_text(const Catalog& catalog) {
  std::string text;
  for (const AttentionKernel& kernel : catalog.kernels) {
    text += fmt::format("{}   {}   {} schedule   {} order   {} CTA{} an SM\n", kernel.name, kernel.title,
                        to_string(kernel.schedule), to_string(kernel.order), kernel.ctas_per_sm,
                        kernel.ctas_per_sm == 1 ? "" : "s");
    for (const KernelTile& tile : kernel.kv_tiles)
      text +=
          fmt::format("  head dim {}: Q tile {}, KV tile {}\n", tile.head_dim, kernel.q_tile, tile.kv_tile);
    for (const KernelRate& rate : kernel.rates) {
      text += fmt::format("  {} at head dim {}: {:.4g} TFLOP/s{} with {} heads of {} tokens   [{}]\n",
                          rate.device, rate.head_dim, rate.flops_per_s * 1e-12,
                          rate.measured ? " (measured)" : "", rate.heads, rate.tokens, rate.source);
    }
    text += "  source: " + kernel.source + "\n\n";
  }
  return text + times_text(catalog);
}

// One row a preset, a tile pair, a device's number or a kernel's rate, with its source.

std::vector<Json> preset_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const Preset& preset : catalog.presets) {
    rows.push_back(preset_json(preset));
    rows.back().erase("windows");
  }
  return rows;
}

std::vector<Json> backend_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const Backend& backend : catalog.backends) {
    for (const auto& [pass, table] :
         {std::pair{"forward", &backend.forward}, std::pair{"backward", &backend.backward}}) {
      for (const BackendTiles& entry : *table) {
        rows.push_back({{"name", backend.name},
                        {"pass", pass},
                        {"q_tile", to_json(entry.tiles.q_tile)},
                        {"kv_tile", to_json(entry.tiles.kv_tile)},
                        {"head_dim", nullable(entry.head_dim)},
                        {"variant", entry.variant},
                        {"kv_tiling", to_string(backend.kv_tiling)},
                        {"source", backend.source}});
      }
    }
  }
  return rows;
}

std::vector<Json> device_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const Device& device : catalog.devices) {
    for (const DeviceNumber& value : known_numbers(device)) {
      rows.push_back({{"name", device.name},
                      {"title", device.title},
                      {"architecture", device.architecture},
                      {"default_backend", device.default_backend},
                      {"quantity", value.name},
                      {"value", value.value},
                      {"measured", value.measured},
                      {"source", value.source}});
    }
  }
  return rows;
}

std::vector<Json> kernel_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const AttentionKernel& kernel : catalog.kernels) {
    const Json fields = kernel_json(kernel);
    for (const Json& rate : fields["rates"]) {
      Json row = {{"name", kernel.name}, {"title", kernel.title}};
      row.update(rate);
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace

Json kernel_times_json(const Catalog& catalog) {
  Json entries = Json::array();
  for (const KernelCosts& costs : catalog.kernel_costs) entries.push_back(natten_sim::to_json(costs));
  return entries;
}

Json catalog_json(const Catalog& catalog, CatalogTable table) {
  Json entries = Json::array();
  switch (table) {
    case CatalogTable::kPresets:
      for (const Preset& preset : catalog.presets) entries.push_back(preset_json(preset));
      break;
    case CatalogTable::kBackends:
      for (const Backend& backend : catalog.backends) entries.push_back(backend_json(backend));
      break;
    case CatalogTable::kDevices:
      for (const Device& device : catalog.devices) entries.push_back(device_json(device));
      break;
    case CatalogTable::kKernels:
      for (const AttentionKernel& kernel : catalog.kernels) entries.push_back(kernel_json(kernel));
      break;
  }
  return entries;
}

std::string catalog_csv(const Catalog& catalog, CatalogTable table) {
  const std::vector<Json> rows = table == CatalogTable::kPresets    ? preset_rows(catalog)
                                 : table == CatalogTable::kBackends ? backend_rows(catalog)
                                 : table == CatalogTable::kDevices  ? device_rows(catalog)
                                                                    : kernel_rows(catalog);
  return csv_table(rows.front(), rows);
}

std::string catalog_text(const Catalog& catalog, CatalogTable table) {
  switch (table) {
    case CatalogTable::kPresets:
      return presets_text(catalog);
    case CatalogTable::kBackends:
      return backends_text(catalog);
    case CatalogTable::kDevices:
      return devices_text(catalog);
    case CatalogTable::kKernels:
      break;
  }
  return kernels_text(catalog);
}

}  // namespace natten_sim::report

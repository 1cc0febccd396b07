#include <fmt/format.h>

#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report::tables {
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

Json preset_entries(const Catalog& catalog) {
  Json entries = Json::array();
  for (const Preset& preset : catalog.presets) entries.push_back(preset_json(preset));
  return entries;
}

/// One row a preset.
std::vector<Json> preset_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const Preset& preset : catalog.presets) {
    rows.push_back(preset_json(preset));
    rows.back().erase("windows");
  }
  return rows;
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

void keep_preset(Catalog& catalog, const std::string& name) {
  const std::string found = catalog.preset(name).name;
  std::erase_if(catalog.presets, [&](const Preset& each) { return each.name != found; });
}

}  // namespace

CatalogTable presets_table();
CatalogTable presets_table() {
  return {.name = "presets",
          .position = 10,
          .entries = preset_entries,
          .rows = preset_rows,
          .text = presets_text,
          .keep = keep_preset};
}

}  // namespace natten_sim::report::tables

#include <functional>
#include <optional>

#include <fmt/format.h>

#include <natten_sim/io/model_data.hpp>
#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/study/plan.hpp>

namespace natten_sim::report::tables {
namespace {

/// Read once a table.
using Shares = std::function<std::optional<study::PresetShare>(const Preset&)>;

Shares shares() {
  return [shapes = model_shapes()](const Preset& preset) { return study::attention_share_of(preset, shapes); };
}

/// A published share, or an estimate: it, its bounds, and what it rests on.
void add_share(const Preset& preset, const std::optional<study::PresetShare>& share, Json& entry) {
  const bool estimated = share && share->basis != study::RestBasis::kShare;
  entry["attention_share"] = nullable(preset.attention_share);
  entry["share_basis"] = to_string(share ? share->basis : study::RestBasis::kUnknown);
  entry["estimated_share"] = estimated ? Json(share->share.value) : Json();
  entry["estimated_share_low"] = estimated ? Json(share->share.low) : Json();
  entry["estimated_share_high"] = estimated ? Json(share->share.high) : Json();
}

std::string share_text(const std::optional<study::PresetShare>& share) {
  if (!share) return "";
  if (share->basis == study::RestBasis::kShare) return fmt::format("{:.1f}%", 100 * share->share.value);
  return fmt::format("by FLOPs: {:.0f}% ({:.0f} .. {:.0f})", 100 * share->share.value, 100 * share->share.low,
                     100 * share->share.high);
}

Json preset_json(const Preset& preset, const Shares& share_of) {
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
  Json fields = {{"name", preset.name},
                 {"description", preset.description},
                 {"layout", to_json(preset.layout)},
                 {"heads", preset.heads},
                 {"head_dim", preset.head_dim}};
  add_share(preset, share_of(preset), fields);
  fields.update({{"steps", nullable(preset.steps)},
                 {"dense_steps", nullable(preset.dense_steps)},
                 {"windows", windows},
                 {"source", preset.source}});
  return fields;
}

Json preset_entries(const Catalog& catalog) {
  Json entries = Json::array();
  const Shares share_of = shares();
  for (const Preset& preset : catalog.presets) entries.push_back(preset_json(preset, share_of));
  return entries;
}

/// One row a preset.
std::vector<Json> preset_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  const Shares share_of = shares();
  for (const Preset& preset : catalog.presets) {
    rows.push_back(preset_json(preset, share_of));
    rows.back().erase("windows");
  }
  return rows;
}

std::string presets_text(const Catalog& catalog) {
  std::vector<std::vector<std::string>> rows = {
      {"preset", "layout", "heads x dim", "attention", "steps", "windows in publications"}};
  const Shares share_of = shares();
  std::string sources = "\nSources of the layouts:\n";
  for (const Preset& preset : catalog.presets) {
    std::string windows;
    for (const PublishedWindow& window : preset.windows) {
      windows += (windows.empty() ? "" : ", ") + to_string(window.window);
      if (!window.dilation.empty()) windows += " (dilation " + to_string(window.dilation) + ")";
    }
    rows.push_back({preset.name, to_string(preset.layout),
                    fmt::format("{} x {}", preset.heads, preset.head_dim),
                    share_text(share_of(preset)),
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

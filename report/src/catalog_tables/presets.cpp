#include <functional>
#include <optional>

#include <fmt/format.h>

#include <natten_sim/io/model_data.hpp>
#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/study/plan.hpp>

namespace natten_sim::report {

namespace {

/// A preset, and attention's share of its time.
struct PresetTold {
  const Preset* preset;
  std::optional<study::PresetShare> share;

  /// By FLOPs, where none is published.
  [[nodiscard]] std::optional<Bounded> estimated() const {
    return share && share->basis != study::RestBasis::kShare ? std::optional(share->share) : std::nullopt;
  }
};

}  // namespace

template <typename Members>
void describe(Members& m, Of<PublishedWindow>) {
  using W = PublishedWindow;
  m.put("window", &W::window);
  m.optional("dilation", unless_empty(&W::dilation), "Dilation, per axis");
  m.put("q_tile", path(&W::tiles, &TilePair::q_tile), "Q tile, per axis; null: not published");
  m.put("kv_tile", path(&W::tiles, &TilePair::kv_tile), "KV tile, per axis; null: not published");
  m.put("strides", &W::strides, "Strides, per axis");
  m.put("source", &W::source);
}

template <typename Members>
void describe(Members& m, Of<PresetTold>) {
  const auto of = [](auto member) { return path(&PresetTold::preset, member); };
  m.put("name", of(&Preset::name), "Name of the preset");
  m.put("description", of(&Preset::description), "The model");
  m.put("layout", of(&Preset::layout), "Tokens per axis");
  m.put("heads", of(&Preset::heads), "Heads");
  m.put("head_dim", of(&Preset::head_dim), "Head dim");
  m.put("attention_share", of(&Preset::attention_share),
        "Published share of the time that is attention, 0..1; null: none");
  m.put(
      "share_basis",
      [](const PresetTold& told) { return told.share ? told.share->basis : study::RestBasis::kUnknown; },
      "What that share is known by");
  m.put("estimated_share", path(&PresetTold::estimated, &Bounded::value),
        "Share by FLOPs, 0..1; null: one is published, or nothing is known");
  m.put("estimated_share_low", path(&PresetTold::estimated, &Bounded::low), "Lower bound of it");
  m.put("estimated_share_high", path(&PresetTold::estimated, &Bounded::high), "Upper bound of it");
  m.put("steps", of(&Preset::steps), "Steps of a run; null: not published");
  m.put("dense_steps", of(&Preset::dense_steps), "Steps that stay dense; null: not published");
  m.put("windows", of(&Preset::windows), "Published windows");
  m.put("source", of(&Preset::source));
}

}  // namespace natten_sim::report

namespace natten_sim::report::tables {
namespace {

/// Read once a table.
using Shares = std::function<std::optional<study::PresetShare>(const Preset&)>;

Shares shares() {
  return [shapes = model_shapes()](const Preset& preset) { return study::attention_share_of(preset, shapes); };
}

std::string share_text(const std::optional<study::PresetShare>& share) {
  if (!share) return "";
  if (share->basis == study::RestBasis::kShare) return fmt::format("{:.1f}%", 100 * share->share.value);
  return fmt::format("by FLOPs: {:.0f}% ({:.0f} .. {:.0f})", 100 * share->share.value, 100 * share->share.low,
                     100 * share->share.high);
}

std::vector<PresetTold> told_of(const Catalog& catalog) {
  std::vector<PresetTold> presets;
  const Shares share_of = shares();
  for (const Preset& preset : catalog.presets) presets.push_back({&preset, share_of(preset)});
  return presets;
}

Json preset_entries(const Catalog& catalog) { return json_of(told_of(catalog)); }

/// One row a preset.
std::vector<Json> preset_rows(const Catalog& catalog) {
  std::vector<Json> rows = rows_of(told_of(catalog));
  for (Json& row : rows) row.erase("windows");
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
          .keep = keep_preset,
          .entry_schema = schema_of<PresetTold>};
}

}  // namespace natten_sim::report::tables

#include <natten_sim/report/validation_views.hpp>

#include "validate/recorded_map.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

Json sensitivity_row(const TilesSensitivity& row) {
  return {{"head_dim", row.head_dim},   {"causal", row.causal},        {"band", row.band},
          {"tiles", row.tiles},         {"cells", row.cells},          {"best", row.best},
          {"mean_loss", row.mean_loss}, {"worst_loss", row.worst_loss}};
}

std::optional<ValidationView> make_sensitivity(const RecordedData& data) {
  const std::optional<RegimeMap> map = recorded_map(data);
  if (!map) return std::nullopt;
  ValidationView view;
  view.empty_row = sensitivity_row({});
  Cells table = {{"head dim", "mask", "context", "tiles", "best in", "of", "mean loss", "worst loss"}};
  for (const TilesSensitivity& row : tiles_sensitivity(*map)) {
    view.rows.push_back(sensitivity_row(row));
    table.push_back({std::to_string(row.head_dim), mask_word(row.causal), row.band, row.tiles,
                     std::to_string(row.best), std::to_string(row.cells),
                     fmt::format("{:.1f}%", 100 * row.mean_loss),
                     fmt::format("{:.1f}%", 100 * row.worst_loss)});
  }
  append_table(table, view.text,
               "What tiles lose against the best of each length and dtype; short: up to 2048 tokens");
  return view;
}

}  // namespace

ViewKind sensitivity_view();
ViewKind sensitivity_view() {
  return {.name = "sensitivity",
          .position = 20,
          .drawn = false,
          .needs = kNeedsTilesAndSdpa,
          .make = make_sensitivity};
}

}  // namespace natten_sim::report::views

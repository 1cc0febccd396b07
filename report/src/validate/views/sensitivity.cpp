#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>

#include "validate/recorded_map.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report {

using validate::TilesSensitivity;

template <typename Members>
void describe(Members& m, Of<TilesSensitivity>) {
  using S = TilesSensitivity;
  m.put("head_dim", &S::head_dim, "Head dim");
  m.put("causal", &S::causal, "Whether the mask is causal");
  m.put("band", &S::band, "short: up to 2048 tokens; long: beyond");
  m.put("tiles", &S::tiles, "Q tile, KV tile and stages");
  m.put("cells", &S::cells, "Lengths and types that they ran on");
  m.put("best", &S::best, "Those where they are the fastest");
  m.put("mean_loss", &S::mean_loss, "Mean of 1 less their TFLOP/s over those of the best tiles");
  m.put("worst_loss", &S::worst_loss, "The largest of these");
}

namespace views {
namespace {

using namespace natten_sim::validate;

std::optional<ValidationView> make_sensitivity(const RecordedData& data) {
  const std::optional<RegimeMap> map = recorded_map(data);
  if (!map) return std::nullopt;
  ValidationView view;
  Cells table = {{"head dim", "mask", "context", "tiles", "best in", "of", "mean loss", "worst loss"}};
  for (const TilesSensitivity& row : tiles_sensitivity(*map)) {
    view.rows.push_back(json_of(row));
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
          .row_schema = schema_of<TilesSensitivity>,
          .make = make_sensitivity};
}

}  // namespace views
}  // namespace natten_sim::report

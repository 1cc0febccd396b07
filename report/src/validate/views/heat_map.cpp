#include <natten_sim/report/validation_views.hpp>

#include "validate/recorded_map.hpp"
#include "validate/validation_pictures.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

Json heat_map_row(const RegimeMap& map, const RegimeCell& cell) {
  const Throughput own = cell.own_throughput();
  Json row = {{"device", map.device},
              {"head_dim", cell.problem.head_dim},
              {"heads", cell.problem.heads},
              {"dtype", to_string(cell.problem.dtype)},
              {"causal", cell.problem.causal},
              {"tokens", cell.problem.tokens},
              {"tflops", nullable(own.tflops)},
              {"tiles", cell.best ? Json(cell.own[*cell.best].tiles) : Json(nullptr)},
              {"status", own.status}};
  for (std::size_t b = 0; b < sdpa_backends().size(); ++b) {
    const std::string& name = sdpa_backends()[b];
    row[name + "_tflops"] = nullable(cell.backends.at(b).tflops);
    row[name + "_status"] = cell.backends[b].status;
    row["of_" + name] = nullable(cell.ratio(b));
  }
  return row;
}

std::string heat_map_text(const RegimeMap& map) {
  std::string text =
      "TFLOP/s of this kernel with its best tiles, and its percentage of PyTorch's backends\n" + map.device +
      ", driver " + map.driver + ", " + map.framework + "\n";
  std::string group;
  Cells table;
  const auto flush = [&] {
    if (!table.empty()) append_table(table, text, group);
    table.clear();
  };
  for (const RegimeCell& cell_of : map.cells) {
    const std::string name =
        std::string(to_string(cell_of.problem.dtype)) + ", " + mask_word(cell_of.problem.causal);
    if (name != group) {
      flush();
      group = name;
      table.push_back({"head dim", "tokens", "TFLOP/s", "tiles"});
      for (const std::string& backend : sdpa_backends()) table.back().push_back("% of " + backend);
    }
    const Throughput own = cell_of.own_throughput();
    table.push_back({std::to_string(cell_of.problem.head_dim), std::to_string(cell_of.problem.tokens),
                     own.tflops ? fmt::format("{:.0f}", *own.tflops) : own.status,
                     cell_of.best ? cell_of.own[*cell_of.best].tiles : "-"});
    for (std::size_t b = 0; b < sdpa_backends().size(); ++b) {
      const std::optional<double> ratio = cell_of.ratio(b);
      table.back().push_back(ratio ? fmt::format("{:.0f}", 100 * *ratio) : cell_of.backends[b].status);
    }
  }
  flush();
  return text;
}

std::optional<ValidationView> make_heat_map(const RecordedData& data) {
  const std::optional<RegimeMap> found = recorded_map(data);
  if (!found) return std::nullopt;
  const RegimeMap& map = *found;
  ValidationView view;
  for (const RegimeCell& cell_of : map.cells) view.rows.push_back(heat_map_row(map, cell_of));
  view.empty_row = heat_map_row(map, map.cells.at(0));
  view.text = heat_map_text(map);
  view.picture = throughput_map(map);
  return view;
}

}  // namespace

ViewKind heat_map_view();
ViewKind heat_map_view() {
  return {
      .name = "heat-map", .position = 10, .drawn = true, .needs = kNeedsTilesAndSdpa, .make = make_heat_map};
}

}  // namespace natten_sim::report::views

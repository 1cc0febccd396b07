#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>

#include "validate/recorded_map.hpp"
#include "validate/validation_pictures.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

struct HeatMapRow {
  const RegimeMap* map;
  const RegimeCell* cell;
};

template <typename Members>
void describe(Members& m, Of<HeatMapRow>) {
  using P = kernels::AttentionProblem;
  const auto of = [](auto... members) { return path(&HeatMapRow::cell, members...); };
  const auto problem = [of](auto member) { return of(&RegimeCell::problem, member); };
  m.put("device", path(&HeatMapRow::map, &RegimeMap::device), kDeviceMeaning);
  m.put("head_dim", problem(&P::head_dim), "Head dim");
  m.put("heads", problem(&P::heads), "Heads");
  m.put("dtype", problem(&P::dtype), "Element type");
  m.put("causal", problem(&P::causal), "Whether the mask is causal");
  m.put("tokens", problem(&P::tokens), "Tokens");
  m.put("tflops", of(&RegimeCell::own_throughput, &Throughput::tflops),
        "TFLOP/s of this project's kernel with its best tiles; null: status says why");
  m.put(
      "tiles",
      [](const HeatMapRow& row) {
        const RegimeCell& cell = *row.cell;
        return cell.best ? std::optional(cell.own[*cell.best].tiles) : std::nullopt;
      },
      "These tiles; null: there are none");
  m.put("status", of(&RegimeCell::own_throughput, &Throughput::status), "measured, or why it was not");
  for (std::size_t b = 0; b < sdpa_backends().size(); ++b) {
    const std::string& name = sdpa_backends()[b];
    const auto theirs = [b](auto member) {
      return [=](const HeatMapRow& row) { return row.cell->backends.at(b).*member; };
    };
    m.put((name + "_tflops").c_str(), theirs(&Throughput::tflops), 
          "TFLOP/s of PyTorch's backend; null: its status says why");
    m.put((name + "_status").c_str(), theirs(&Throughput::status), "measured, or why it was not");
    m.put(("of_" + name).c_str(), [b](const HeatMapRow& row) { return row.cell->ratio(b); },
          "This project's TFLOP/s over the backend's; null: one is missing");
  }
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
  for (const RegimeCell& cell_of : map.cells) view.rows.push_back(json_of(HeatMapRow{&map, &cell_of}));
  view.text = heat_map_text(map);
  view.picture = throughput_map(map);
  return view;
}

}  // namespace

ViewKind heat_map_view();
ViewKind heat_map_view() {
  return {.name = "heat-map",
          .position = 10,
          .drawn = true,
          .needs = kNeedsTilesAndSdpa,
          .row_schema = schema_of<HeatMapRow>,
          .make = make_heat_map};
}

}  // namespace natten_sim::report::views

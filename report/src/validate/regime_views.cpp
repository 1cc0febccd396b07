#include "validate/view_tables.hpp"

#include <natten_sim/validate/studies/regime_map.hpp>

#include "validate/validation_pictures.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

/// The suite tiles beside PyTorch's times; empty unless there are recordings of both on just one device.
std::optional<RegimeMap> map_of(const RecordedData& data) {
  std::optional<RegimeMap> map;
  for (const Recording& ours : data.recordings) {
    if (ours.head.suite != "tiles") continue;
    for (const SdpaRecording& each : data.sdpa) {
      if (each.device.name != ours.head.device.name || each.driver != ours.head.driver) continue;
      if (map) return std::nullopt;  // ratios of several devices are no one map
      map = regime_map(ours, each);
    }
  }
  return map && !map->cells.empty() ? map : std::nullopt;
}

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


Json sensitivity_row(const TilesSensitivity& row) {
  return {{"head_dim", row.head_dim},   {"causal", row.causal},        {"band", row.band},
          {"tiles", row.tiles},         {"cells", row.cells},          {"best", row.best},
          {"mean_loss", row.mean_loss}, {"worst_loss", row.worst_loss}};
}


Json decision_row(const Decision& row) {
  return {{"head_dim", row.head_dim},
          {"dtype", to_string(row.dtype)},
          {"causal", row.causal},
          {"from_tokens", row.from_tokens},
          {"to_tokens", row.to_tokens},
          {"fastest", row.fastest},
          {"fastest_tflops", row.fastest_tflops},
          {"of_auto", nullable(row.of_auto)},
          {"tiles", row.tiles},
          {"own_least", nullable(row.own_least)},
          {"own_most", nullable(row.own_most)}};
}

}  // namespace

std::optional<ValidationView> heat_map(const RecordedData& data) {
  const std::optional<RegimeMap> found = map_of(data);
  if (!found) return std::nullopt;
  const RegimeMap& map = *found;
  ValidationView view;
  for (const RegimeCell& cell_of : map.cells) view.rows.push_back(heat_map_row(map, cell_of));
  view.empty_row = heat_map_row(map, map.cells.at(0));
  view.text = heat_map_text(map);
  view.picture = throughput_map(map);
  return view;
}

std::optional<ValidationView> sensitivity(const RecordedData& data) {
  const std::optional<RegimeMap> map = map_of(data);
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

std::optional<ValidationView> decision_table(const RecordedData& data) {
  const std::optional<RegimeMap> map = map_of(data);
  if (!map) return std::nullopt;
  ValidationView view;
  view.empty_row = decision_row({});
  Cells table = {
      {"head dim", "dtype", "mask", "tokens", "fastest", "TFLOP/s", "auto reaches", "our tiles", "reach"}};
  for (const Decision& row : decisions(*map)) {
    view.rows.push_back(decision_row(row));
    const std::string tokens = row.from_tokens == row.to_tokens
                                   ? std::to_string(row.to_tokens)
                                   : fmt::format("{}..{}", row.from_tokens, row.to_tokens);
    const std::string reach = !row.own_least ? "-"
                              : *row.own_most - *row.own_least < 0.005
                                  ? fmt::format("{:.0f}%", 100 * *row.own_most)
                                  : fmt::format("{:.0f}..{:.0f}%", 100 * *row.own_least, 100 * *row.own_most);
    table.push_back({std::to_string(row.head_dim), to_string(row.dtype), mask_word(row.causal),
                     tokens, row.fastest, fmt::format("{:.0f}", row.fastest_tflops),
                     cell(row.of_auto, "{:.0f}%", 100), row.tiles, reach});
  }
  append_table(table, view.text, "The fastest kernel, what PyTorch's own choice and our best tiles reach of it");
  return view;
}

}  // namespace natten_sim::report::views

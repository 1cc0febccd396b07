#include <natten_sim/report/validation_views.hpp>

#include "validate/recorded_map.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

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

std::optional<ValidationView> make_decisions(const RecordedData& data) {
  const std::optional<RegimeMap> map = recorded_map(data);
  if (!map) return std::nullopt;
  ValidationView view;
  view.empty_row = decision_row({});
  Cells table = {
      {"head dim", "dtype", "mask", "tokens", "fastest", "TFLOP/s", "auto reaches", "our tiles", "reach"}};
  for (const Decision& row : validate::decisions(*map)) {
    view.rows.push_back(decision_row(row));
    const std::string tokens = row.from_tokens == row.to_tokens
                                   ? std::to_string(row.to_tokens)
                                   : fmt::format("{}..{}", row.from_tokens, row.to_tokens);
    const std::string reach = !row.own_least ? "-"
                              : *row.own_most - *row.own_least < 0.005
                                  ? fmt::format("{:.0f}%", 100 * *row.own_most)
                                  : fmt::format("{:.0f}..{:.0f}%", 100 * *row.own_least, 100 * *row.own_most);
    table.push_back({std::to_string(row.head_dim), to_string(row.dtype), mask_word(row.causal), tokens,
                     row.fastest, fmt::format("{:.0f}", row.fastest_tflops),
                     cell(row.of_auto, "{:.0f}%", 100), row.tiles, reach});
  }
  append_table(table, view.text,
               "The fastest kernel, what PyTorch's own choice and our best tiles reach of it");
  return view;
}

}  // namespace

ViewKind decisions_view();
ViewKind decisions_view() {
  return {.name = "decisions",
          .position = 30,
          .drawn = false,
          .needs = kNeedsTilesAndSdpa,
          .make = make_decisions};
}

}  // namespace natten_sim::report::views

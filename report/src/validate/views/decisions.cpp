#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>

#include "validate/recorded_map.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report {

using validate::Decision;

template <typename Members>
void describe(Members& m, Of<Decision>) {
  m.put("head_dim", &Decision::head_dim, "Head dim");
  m.put("dtype", &Decision::dtype, "Element type");
  m.put("causal", &Decision::causal, "Whether the mask is causal");
  m.put("from_tokens", &Decision::from_tokens, "The shortest length with this answer");
  m.put("to_tokens", &Decision::to_tokens, "The longest length with this answer");
  m.put("fastest", &Decision::fastest, "The fastest kernel: a backend of PyTorch, or natten-sim");
  m.put("fastest_tflops", &Decision::fastest_tflops, "Its TFLOP/s at the longest length");
  m.put("of_auto", &Decision::of_auto, "Least share of that which PyTorch's own choice reaches; null: not measured");
  m.put("tiles", &Decision::tiles, "The best tiles of this project's kernel, or why there are none");
  m.put("own_least", &Decision::own_least, "Least share of the fastest that they reach; null: not measured");
  m.put("own_most", &Decision::own_most, "Largest share of the fastest that they reach; null: not measured");
}

namespace views {
namespace {

using namespace natten_sim::validate;

std::optional<ValidationView> make_decisions(const RecordedData& data) {
  const std::optional<RegimeMap> map = recorded_map(data);
  if (!map) return std::nullopt;
  ValidationView view;
  Cells table = {
      {"head dim", "dtype", "mask", "tokens", "fastest", "TFLOP/s", "auto reaches", "our tiles", "reach"}};
  for (const Decision& row : validate::decisions(*map)) {
    view.rows.push_back(json_of(row));
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
          .row_schema = schema_of<Decision>,
          .make = make_decisions};
}

}  // namespace views
}  // namespace natten_sim::report

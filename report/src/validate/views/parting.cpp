#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>

#include "validate/placed_curves.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {

using namespace natten_sim::validate;

template <typename Members>
void describe(Members& m, Of<PlacedCurve>) {
  const auto of = [](auto member) { return path(&PlacedCurve::parting, member); };
  m.put("device", &PlacedCurve::device, kDeviceMeaning);
  m.put("configuration", path(&PlacedCurve::curve, &OrderCurve::name), kConfigurationMeaning);
  m.put("last_together", of(&Parting::last_together), "Longest length at which the orders read alike; null: none");
  m.put("first_apart", of(&Parting::first_apart), "Shortest length at which sawtooth saves more than 5%; null: none");
  m.put("predicted_together", of(&Parting::predicted_together), "last_together by the closed form; null: none");
  m.put("predicted_apart", of(&Parting::predicted_apart), "first_apart by the closed form; null: none");
  m.put("predicted_tokens", of(&Parting::predicted_tokens),
        "The shortest length that the closed form answers; null: none");
}

namespace {

std::optional<ValidationView> make_parting(const RecordedData& data) {
  const std::vector<PlacedCurve> all = placed_curves(data);
  if (all.empty()) return std::nullopt;
  ValidationView view;
  Cells table = {
      {"configuration", "together at", "apart at", "predicted together", "apart", "from tokens", "device"}};
  for (const PlacedCurve& at : all) {
    view.rows.push_back(json_of(at));
    const Parting& p = at.parting;
    table.push_back({at.curve.name, cell(p.last_together), cell(p.first_apart), cell(p.predicted_together),
                     cell(p.predicted_apart), cell(p.predicted_tokens), at.device});
  }
  append_table(table, view.text,
               "Where a sawtooth begins to save more than 5% of the DRAM reads of a cyclic walk");
  return view;
}

}  // namespace

ViewKind parting_view();
ViewKind parting_view() {
  return {.name = "parting",
          .position = 60,
          .drawn = false,
          .needs = kNeedsBothOrders,
          .row_schema = schema_of<PlacedCurve>,
          .make = make_parting};
}

}  // namespace natten_sim::report::views

#include <natten_sim/report/validation_views.hpp>

#include "validate/placed_curves.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

Json parting_row(const PlacedCurve& at) {
  const Parting& parting = at.parting;
  return {{"device", at.device},
          {"configuration", at.curve.name},
          {"last_together", nullable(parting.last_together)},
          {"first_apart", nullable(parting.first_apart)},
          {"predicted_together", nullable(parting.predicted_together)},
          {"predicted_apart", nullable(parting.predicted_apart)},
          {"predicted_tokens", nullable(parting.predicted_tokens)}};
}

std::optional<ValidationView> make_parting(const RecordedData& data) {
  const std::vector<PlacedCurve> all = placed_curves(data);
  if (all.empty()) return std::nullopt;
  ValidationView view;
  view.empty_row = parting_row({});
  Cells table = {
      {"configuration", "together at", "apart at", "predicted together", "apart", "from tokens", "device"}};
  for (const PlacedCurve& at : all) {
    view.rows.push_back(parting_row(at));
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
  return {.name = "parting", .position = 60, .drawn = false, .needs = kNeedsBothOrders, .make = make_parting};
}

}  // namespace natten_sim::report::views

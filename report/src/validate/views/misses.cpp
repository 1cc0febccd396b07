#include <natten_sim/report/validation_views.hpp>

#include "validate/placed_curves.hpp"
#include "validate/validation_pictures.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

Json misses_row(const PlacedCurve& at, const OrderedPoint& point) {
  return {{"device", at.device},
          {"configuration", at.curve.name},
          {"tokens", point.tokens},
          {"kv_bytes", point.kv_bytes},
          {"cyclic_misses", nullable(point.cyclic_misses)},
          {"cyclic_predicted", nullable(point.cyclic_predicted)},
          {"sawtooth_misses", nullable(point.sawtooth_misses)},
          {"sawtooth_predicted", nullable(point.sawtooth_predicted)},
          {"saving", nullable(point.measured_saving())},
          {"saving_predicted", nullable(point.predicted_saving())}};
}

std::optional<ValidationView> make_misses(const RecordedData& data) {
  const std::vector<PlacedCurve> all = placed_curves(data);
  if (all.empty()) return std::nullopt;
  ValidationView view;
  view.empty_row = misses_row({}, {});
  for (const PlacedCurve& at : all) {
    Cells table = {
        {"tokens", "K and V, MiB", "cyclic", "predicted", "sawtooth", "predicted", "saving", "predicted"}};
    for (const OrderedPoint& p : at.curve.points) {
      view.rows.push_back(misses_row(at, p));
      table.push_back(
          {std::to_string(p.tokens), fmt::format("{:.1f}", static_cast<double>(p.kv_bytes) / (1 << 20)),
           cell(p.cyclic_misses, "{:.3f}"), cell(p.cyclic_predicted, "{:.3f}"),
           cell(p.sawtooth_misses, "{:.3f}"), cell(p.sawtooth_predicted, "{:.3f}"),
           cell(p.measured_saving(), "{:.1f}%", 100), cell(p.predicted_saving(), "{:.1f}%", 100)});
    }
    append_table(table, view.text,
                 "DRAM reads over the compulsory ones, " + at.device + ", " + at.curve.name);
  }
  view.picture = miss_curves(curves_alone(all));
  return view;
}

}  // namespace

ViewKind misses_view();
ViewKind misses_view() {
  return {.name = "misses", .position = 40, .drawn = true, .needs = kNeedsBothOrders, .make = make_misses};
}

}  // namespace natten_sim::report::views

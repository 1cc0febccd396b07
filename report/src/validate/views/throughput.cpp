#include <natten_sim/report/validation_views.hpp>

#include "validate/placed_curves.hpp"
#include "validate/validation_pictures.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

Json throughput_row(const PlacedCurve& at, const OrderedPoint& point) {
  std::optional<double> gain;
  if (point.cyclic_tflops && point.sawtooth_tflops) gain = *point.sawtooth_tflops / *point.cyclic_tflops - 1;
  return {{"device", at.device},
          {"configuration", at.curve.name},
          {"tokens", point.tokens},
          {"cyclic_tflops", nullable(point.cyclic_tflops)},
          {"sawtooth_tflops", nullable(point.sawtooth_tflops)},
          {"gain", nullable(gain)}};
}

std::optional<ValidationView> make_throughput(const RecordedData& data) {
  const std::vector<PlacedCurve> all = placed_curves(data);
  if (all.empty()) return std::nullopt;
  ValidationView view;
  view.empty_row = throughput_row({}, {});
  for (const PlacedCurve& at : all) {
    Cells table = {{"tokens", "cyclic", "sawtooth", "gain"}};
    for (const OrderedPoint& p : at.curve.points) {
      const Json row = throughput_row(at, p);
      view.rows.push_back(row);
      table.push_back(
          {std::to_string(p.tokens), cell(p.cyclic_tflops, "{:.1f}"), cell(p.sawtooth_tflops, "{:.1f}"),
           row["gain"].is_null() ? "-" : fmt::format("{:+.1f}%", 100 * row["gain"].get<double>())});
    }
    append_table(table, view.text, "TFLOP/s, " + at.device + ", " + at.curve.name);
  }
  view.picture = throughput_curves(curves_alone(all));
  return view;
}

}  // namespace

ViewKind throughput_view();
ViewKind throughput_view() {
  return {.name = "throughput",
          .position = 50,
          .drawn = true,
          .needs = kNeedsBothOrders,
          .make = make_throughput};
}

}  // namespace natten_sim::report::views

#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>

#include "validate/placed_curves.hpp"
#include "validate/validation_pictures.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

struct ThroughputRow : PlacedPoint {};

std::optional<double> gain_of(const ThroughputRow& row) {
  const OrderedPoint& p = *row.point;
  return p.cyclic_tflops && p.sawtooth_tflops ? std::optional(*p.sawtooth_tflops / *p.cyclic_tflops - 1) : std::nullopt;
}

template <typename Members>
void describe(Members& m, Of<ThroughputRow>) {
  const auto of = [](auto member) { return path(&ThroughputRow::point, member); };
  put_place(m);
  m.put("cyclic_tflops", of(&OrderedPoint::cyclic_tflops), "TFLOP/s in cyclic order; null: not timed");
  m.put("sawtooth_tflops", of(&OrderedPoint::sawtooth_tflops), "TFLOP/s in sawtooth order; null: not timed");
  m.put("gain", &gain_of, "The second over the first, less 1; null: one was not timed");
}

std::optional<ValidationView> make_throughput(const RecordedData& data) {
  const std::vector<PlacedCurve> all = placed_curves(data);
  if (all.empty()) return std::nullopt;
  ValidationView view;
  for (const PlacedCurve& at : all) {
    Cells table = {{"tokens", "cyclic", "sawtooth", "gain"}};
    for (const OrderedPoint& p : at.curve.points) {
      const ThroughputRow row{{&at, &p}};
      view.rows.push_back(json_of(row));
      table.push_back({std::to_string(p.tokens), cell(p.cyclic_tflops, "{:.1f}"),
                       cell(p.sawtooth_tflops, "{:.1f}"), cell(gain_of(row), "{:+.1f}%", 100)});
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
          .row_schema = schema_of<ThroughputRow>,
          .make = make_throughput};
}

}  // namespace natten_sim::report::views

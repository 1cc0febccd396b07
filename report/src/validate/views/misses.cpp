#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>

#include "validate/placed_curves.hpp"
#include "validate/validation_pictures.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

struct MissesRow : PlacedPoint {};

template <typename Members>
void describe(Members& m, Of<MissesRow>) {
  using P = OrderedPoint;
  const auto of = [](auto member) { return path(&MissesRow::point, member); };
  put_place(m);
  m.put("kv_bytes", of(&P::kv_bytes), "K and V of one head");
  m.put("cyclic_misses", of(&P::cyclic_misses),
        "DRAM reads over the compulsory ones in cyclic order; null: not measured");
  m.put("cyclic_predicted", of(&P::cyclic_predicted), "The same by the closed form; null: it has no answer");
  m.put("sawtooth_misses", of(&P::sawtooth_misses), "That in sawtooth order; null: not measured");
  m.put("sawtooth_predicted", of(&P::sawtooth_predicted), "The same by the closed form; null: it has no answer");
  m.put("saving", of(&P::measured_saving), "Share of the cyclic reads that sawtooth saves; null: not measured");
  m.put("saving_predicted", of(&P::predicted_saving), "The same by the closed form; null: it has no answer");
}

std::optional<ValidationView> make_misses(const RecordedData& data) {
  const std::vector<PlacedCurve> all = placed_curves(data);
  if (all.empty()) return std::nullopt;
  ValidationView view;
  for (const PlacedCurve& at : all) {
    Cells table = {
        {"tokens", "K and V, MiB", "cyclic", "predicted", "sawtooth", "predicted", "saving", "predicted"}};
    for (const OrderedPoint& p : at.curve.points) {
      view.rows.push_back(json_of(MissesRow{{&at, &p}}));
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
  return {.name = "misses",
          .position = 40,
          .drawn = true,
          .needs = kNeedsBothOrders,
          .row_schema = schema_of<MissesRow>,
          .make = make_misses};
}

}  // namespace natten_sim::report::views

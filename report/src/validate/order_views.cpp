#include "validate/view_tables.hpp"

#include <natten_sim/validate/studies/order_study.hpp>

#include "validate/validation_pictures.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

/// A curve and where it was recorded.
struct PlacedCurve {
  std::string device;
  OrderCurve curve;
  Parting parting;
};
/// Of every suite but those that vary something else; empty without curves.
std::vector<PlacedCurve> curves_of(const RecordedData& data) {
  std::vector<PlacedCurve> placed;
  for (const Recording& recording : data.recordings) {
    if (!data.shows(recording) || recording.head.suite == "stream" || recording.head.suite == "tiles") continue;
    const Device device = device_of(recording, data.devices);
    for (const OrderCurve& curve : order_curves(recording, device)) {
      placed.push_back({recording.head.device.name, curve, parting_of(curve, device)});
    }
  }
  return placed;
}

std::vector<OrderCurve> curves_alone(const std::vector<PlacedCurve>& placed) {
  std::vector<OrderCurve> curves;
  for (const PlacedCurve& each : placed) curves.push_back(each.curve);
  return curves;
}

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

}  // namespace

std::optional<ValidationView> misses(const RecordedData& data) {
  const std::vector<PlacedCurve> all = curves_of(data);
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
    append_table(table, view.text, "DRAM reads over the compulsory ones, " + at.device + ", " + at.curve.name);
  }
  view.picture = miss_curves(curves_alone(all));
  return view;
}

std::optional<ValidationView> throughput(const RecordedData& data) {
  const std::vector<PlacedCurve> all = curves_of(data);
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

std::optional<ValidationView> partings(const RecordedData& data) {
  const std::vector<PlacedCurve> all = curves_of(data);
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
  append_table(table, view.text, "Where a sawtooth begins to save more than 5% of the DRAM reads of a cyclic walk");
  return view;
}

}  // namespace natten_sim::report::views

#include <algorithm>
#include <cmath>
#include <map>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/order_study.hpp>
#include <natten_sim/validate/prediction.hpp>

namespace natten_sim::validate {
namespace {

constexpr double kParted = 0.05;
constexpr std::int64_t kMostPredicted = 250;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 22;
constexpr double kSectorBytes = 32;
constexpr std::int64_t kElementBytes = 2;

std::optional<double> counter_of(const RecordedRow& row, const char* label) {
  const auto found = row.counters.find(label);
  if (row.status != "measured" || found == row.counters.end()) return std::nullopt;
  return found->second.spread.median;
}

/// Q, K and V, each once.
double compulsory_bytes(const kernels::AttentionProblem& problem) {
  return static_cast<double>((problem.query_elements() + 2 * problem.key_elements()) * kElementBytes);
}

/// Empty as well where the profile lacks what the models need.
std::optional<double> predicted_reads(const Point& point, const Device& device) {
  if (device.values.empty()) return std::nullopt;
  try {
    for (const Prediction& prediction : predict(point, device)) {
      if (prediction.counter == "dram_read_bytes") return prediction.value;
    }
  } catch (const InvalidParameter&) {
  }
  return std::nullopt;
}

std::optional<double> over_compulsory(std::optional<double> bytes, const kernels::AttentionProblem& problem) {
  if (!bytes) return std::nullopt;
  return *bytes / compulsory_bytes(problem);
}

std::optional<double> saving(std::optional<double> sawtooth, std::optional<double> cyclic) {
  if (!sawtooth || !cyclic || !(*cyclic > 0)) return std::nullopt;
  return 1 - *sawtooth / *cyclic;
}

std::string name_of(const AttentionPoint& point) {
  const kernels::AttentionVariant& v = point.variant;
  const kernels::AttentionProblem& p = point.problem;
  std::string name = "head dim " + std::to_string(p.head_dim) + ", " + kernels::to_string(p.dtype);
  if (p.heads > 1) name += ", " + std::to_string(p.heads) + "/" + std::to_string(p.heads_kv) + " heads";
  return name + ", batch " + std::to_string(p.batch) + ", " + std::to_string(v.q_tile) + "x" +
         std::to_string(v.kv_tile) + "x" + std::to_string(v.stages) + ", " + std::to_string(v.ctas_per_sm) +
         (v.ctas_per_sm == 1 ? " CTA" : " CTAs") + " an SM";
}

/// Fills in one order of a length.
void add_row(const RecordedRow& row, const AttentionPoint& point, const Device& device, OrderedPoint& at) {
  const bool sawtooth = point.variant.walk == kernels::KvWalk::kSawtooth;
  (sawtooth ? at.sawtooth_misses : at.cyclic_misses) =
      over_compulsory(counter_of(row, "dram_read_bytes"), point.problem);
  (sawtooth ? at.sawtooth_predicted : at.cyclic_predicted) =
      over_compulsory(predicted_reads(point, device), point.problem);
  (sawtooth ? at.sawtooth_tflops : at.cyclic_tflops) = teraflops(row);
}

/// Predicted saving of a configuration at another length.
std::optional<double> predicted_saving(AttentionPoint point, std::int64_t tokens, const Device& device) {
  point.problem.tokens = tokens;
  point.variant.walk = kernels::KvWalk::kCyclic;
  const std::optional<double> cyclic = predicted_reads(point, device);
  point.variant.walk = kernels::KvWalk::kSawtooth;
  return saving(predicted_reads(point, device), cyclic);
}

std::int64_t sms_of(const Device& device) {
  const DeviceValue* const sms = find_value(device, "sms");
  return sms == nullptr ? 0 : std::llround(sms->value);
}

/// Lengths between which the closed form may not answer: one head may end anywhere, several fill whole rounds
/// of CTAs.
std::int64_t step_of(const AttentionPoint& point, const Device& device) {
  const std::int64_t q_tile = point.variant.q_tile;
  return point.problem.batch * point.problem.heads == 1
             ? q_tile
             : point.variant.resident_ctas(sms_of(device)) * q_tile;
}

/// Predictions on at most kMostPredicted lengths, so that thresholds show between measured ones.
std::vector<OrderedPoint> predicted_between(const OrderCurve& curve, const Device& device) {
  const std::int64_t first = curve.points.front().tokens, last = curve.points.back().tokens;
  const std::int64_t step = step_of(curve.configuration, device);
  if (step <= 0) return {};
  const std::int64_t stride = step * std::max<std::int64_t>((last - first) / step / kMostPredicted, 1);
  std::vector<OrderedPoint> predicted;
  for (std::int64_t tokens = first; tokens <= last; tokens += stride) {
    AttentionPoint point = curve.configuration;
    point.problem.tokens = tokens;
    OrderedPoint at;
    at.tokens = tokens;
    at.cyclic_predicted = over_compulsory(predicted_reads(point, device), point.problem);
    point.variant.walk = kernels::KvWalk::kSawtooth;
    at.sawtooth_predicted = over_compulsory(predicted_reads(point, device), point.problem);
    predicted.push_back(at);
  }
  return predicted;
}

Series series_of(const std::string& name, bool line,
                 const std::function<std::optional<double>(const OrderedPoint&)>& value,
                 const std::vector<OrderedPoint>& points) {
  Series series{name, {}, line, !line};
  for (const OrderedPoint& point : points) {
    if (const auto y = value(point)) series.points.emplace_back(static_cast<double>(point.tokens), *y);
  }
  return series;
}

Chart chart_of(const std::string& title, const std::string& y_label, bool log_y) {
  Chart chart;
  chart.title = title;
  chart.x_label = "tokens";
  chart.y_label = y_label;
  chart.log_x = false;
  chart.log_y = log_y;
  return chart;
}

}  // namespace

std::optional<double> OrderedPoint::measured_saving() const { return saving(sawtooth_misses, cyclic_misses); }
std::optional<double> OrderedPoint::predicted_saving() const {
  return saving(sawtooth_predicted, cyclic_predicted);
}

std::vector<OrderCurve> order_curves(const Recording& recording, const Device& device) {
  std::vector<OrderCurve> curves;
  for (const RecordedRow& row : recording.rows) {
    const auto* const point = std::get_if<AttentionPoint>(&row.point);
    if (point == nullptr || row.status != "measured" || point->problem.causal || point->variant.ctas != 0 ||
        point->variant.schedule != kernels::CtaSchedule::kPersistent ||
        point->variant.walk == kernels::KvWalk::kDescending) {
      continue;
    }
    const std::string name = name_of(*point);
    auto curve =
        std::find_if(curves.begin(), curves.end(), [&](const OrderCurve& c) { return c.name == name; });
    if (curve == curves.end()) curve = curves.insert(curve, OrderCurve{*point, name, {}});
    const std::int64_t tokens = point->problem.tokens;
    auto at = std::find_if(curve->points.begin(), curve->points.end(),
                           [&](const OrderedPoint& p) { return p.tokens == tokens; });
    if (at == curve->points.end()) {
      OrderedPoint fresh;
      fresh.tokens = tokens;
      fresh.kv_bytes = 2 * tokens * point->problem.head_dim * kElementBytes;
      at = curve->points.insert(at, fresh);
    }
    add_row(row, *point, device, *at);
  }
  for (OrderCurve& curve : curves) {
    std::erase_if(curve.points, [](const OrderedPoint& p) { return !p.measured_saving(); });
    std::sort(curve.points.begin(), curve.points.end(),
              [](const OrderedPoint& a, const OrderedPoint& b) { return a.tokens < b.tokens; });
    if (curve.points.empty()) continue;
    curve.configuration.problem.tokens = curve.points.front().tokens;
    curve.configuration.variant.walk = kernels::KvWalk::kCyclic;
  }
  std::erase_if(curves, [](const OrderCurve& curve) { return curve.points.size() < 3; });
  for (OrderCurve& curve : curves) curve.predicted = predicted_between(curve, device);
  return curves;
}

Parting parting_of(const OrderCurve& curve, const Device& device) {
  Parting parting;
  for (const OrderedPoint& point : curve.points) {
    const double measured = point.measured_saving().value_or(0);
    if (measured > kParted && !parting.first_apart) parting.first_apart = point.tokens;
    if (!parting.first_apart) parting.last_together = point.tokens;
    const std::optional<double> predicted = point.predicted_saving();
    if (!predicted) continue;
    if (*predicted > kParted && !parting.predicted_apart) parting.predicted_apart = point.tokens;
    if (!parting.predicted_apart) parting.predicted_together = point.tokens;
  }
  const std::int64_t step = parting.predicted_together || parting.predicted_apart
                                ? step_of(curve.configuration, device)
                                : 0;  // no model answers
  for (std::int64_t tokens = step; step > 0 && tokens <= kMostTokens; tokens += step) {
    const std::optional<double> predicted = predicted_saving(curve.configuration, tokens, device);
    if (predicted && *predicted > kParted) {
      parting.predicted_tokens = tokens;
      break;
    }
  }
  return parting;
}

std::vector<ActiveSmsPoint> active_sms(const Recording& recording, const Device& device) {
  std::vector<ActiveSmsPoint> points;
  for (const RecordedRow& row : recording.rows) {
    const auto* const point = std::get_if<AttentionPoint>(&row.point);
    if (point == nullptr || point->variant.ctas == 0 || point->variant.ctas_per_sm != 1) continue;
    const std::optional<double> loads = counter_of(row, "l2_read_sectors");
    const std::optional<double> reads = counter_of(row, "dram_read_bytes");
    if (!loads || !reads || !(*loads > 0)) continue;
    ActiveSmsPoint at;
    at.sms = point->variant.ctas;
    at.dram_hit_rate = 1 - *reads / kSectorBytes / *loads;
    if (const auto misses = counter_of(row, "l2_tex_miss_sectors")) at.l2_hit_rate = 1 - *misses / *loads;
    if (const auto predicted = predicted_reads(row.point, device)) {
      at.predicted = 1 - *predicted / kSectorBytes / *loads;
    }
    at.lockstep = 1 - 1 / static_cast<double>(at.sms);
    at.misses = *reads / compulsory_bytes(point->problem);
    points.push_back(at);
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const ActiveSmsPoint& a, const ActiveSmsPoint& b) { return a.sms < b.sms; });
  return points;
}

std::vector<StreamCapacity> stream_capacities(const Recording& recording) {
  std::vector<StreamCapacity> capacities;
  for (const RecordedRow& row : recording.rows) {
    const auto* const point = std::get_if<StreamPoint>(&row.point);
    if (point == nullptr || point->ctas == 0 || point->step_cycles == 0 || point->passes < 2 ||
        point->order != kernels::StreamOrder::kSawtooth) {
      continue;
    }
    const std::optional<double> reads = counter_of(row, "dram_read_bytes");
    if (!reads) continue;
    const auto mib = static_cast<double>(point->buffer_mib);
    const double kept = (point->passes * mib - *reads / (1 << 20)) / (point->passes - 1);
    capacities.push_back({point->ctas, point->buffer_mib, kept});
  }
  std::stable_sort(capacities.begin(), capacities.end(),
                   [](const StreamCapacity& a, const StreamCapacity& b) {
                     return std::pair(a.sms, a.buffer_mib) < std::pair(b.sms, b.buffer_mib);
                   });
  return capacities;
}

std::vector<Chart> miss_charts(std::span<const OrderCurve> curves) {
  std::vector<Chart> charts;
  for (const OrderCurve& curve : curves) {
    Chart chart = chart_of(curve.name, "DRAM reads over the compulsory ones", false);
    chart.series = {
        series_of(
            "cyclic, measured", false, [](const auto& p) { return p.cyclic_misses; }, curve.points),
        series_of(
            "sawtooth, measured", false, [](const auto& p) { return p.sawtooth_misses; }, curve.points),
        series_of(
            "cyclic, predicted", true, [](const auto& p) { return p.cyclic_predicted; }, curve.predicted),
        series_of(
            "sawtooth, predicted", true, [](const auto& p) { return p.sawtooth_predicted; },
            curve.predicted)};
    charts.push_back(chart);
  }
  return charts;
}

std::vector<Chart> throughput_charts(std::span<const OrderCurve> curves) {
  std::vector<Chart> charts;
  for (const OrderCurve& curve : curves) {
    Chart chart = chart_of(curve.name, "TFLOP/s", false);
    Series cyclic = series_of(
        "cyclic", true, [](const auto& p) { return p.cyclic_tflops; }, curve.points);
    Series sawtooth = series_of(
        "sawtooth", true, [](const auto& p) { return p.sawtooth_tflops; }, curve.points);
    if (cyclic.points.empty() && sawtooth.points.empty()) continue;
    cyclic.marks = sawtooth.marks = true;
    chart.series = {cyclic, sawtooth};
    chart.y_from_zero = true;
    charts.push_back(chart);
  }
  return charts;
}

std::vector<Chart> active_sms_charts(std::span<const ActiveSmsPoint> points,
                                     std::span<const StreamCapacity> capacities) {
  std::vector<Chart> charts;
  if (!points.empty()) {
    Chart rate = chart_of("Hit rate", "hit rate", false), misses = chart_of("Misses", "", true);
    misses.y_label = "DRAM reads over the compulsory ones";
    Series dram{"1 - DRAM / loads", {}, false, true}, slices{"1 - L2 misses / loads", {}, false, true};
    Series lockstep{"1 - 1/SMs", {}, true, false}, model{"lockstep model", {}, true, false};
    Series read{"measured", {}, true, true};
    for (const ActiveSmsPoint& p : points) {
      const auto x = static_cast<double>(p.sms);
      dram.points.emplace_back(x, p.dram_hit_rate);
      if (p.l2_hit_rate) slices.points.emplace_back(x, *p.l2_hit_rate);
      if (p.predicted) model.points.emplace_back(x, *p.predicted);
      lockstep.points.emplace_back(x, p.lockstep);
      read.points.emplace_back(x, p.misses);
    }
    rate.series = {dram, slices, lockstep, model};
    misses.series = {read};
    charts = {rate, misses};
  }
  if (!capacities.empty()) {
    Chart kept = chart_of("What the L2 keeps of a sawtooth stream", "MiB", false);
    std::map<std::int64_t, Series> by_buffer;
    for (const StreamCapacity& each : capacities) {
      Series& series = by_buffer[each.buffer_mib];
      series.name = "of " + std::to_string(each.buffer_mib) + " MiB";
      series.line = true;
      series.points.emplace_back(static_cast<double>(each.sms), each.kept_mib);
    }
    for (auto& [mib, series] : by_buffer) kept.series.push_back(series);
    charts.push_back(kept);
  }
  for (Chart& chart : charts) {
    chart.x_label = "SMs at work";
    chart.log_x = true;
  }
  return charts;
}

}  // namespace natten_sim::validate

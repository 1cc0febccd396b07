#include <algorithm>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/cases/stream.hpp>
#include <natten_sim/validate/studies/order_study.hpp>

namespace natten_sim::validate {
namespace {

constexpr double kParted = 0.05;
constexpr std::int64_t kMaxPredicted = 250;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 22;
constexpr std::int64_t kElementBytes = 2;

std::optional<double> counter_of(const RecordedRow& row, const char* label) {
  const auto found = row.counters.find(label);
  if (row.status != kMeasured || found == row.counters.end()) return std::nullopt;
  return found->second.spread.median;
}

/// Q, K and V, each once.
double compulsory_bytes(const kernels::AttentionProblem& problem) {
  return static_cast<double>((problem.query_elements() + 2 * problem.key_elements()) * kElementBytes);
}

/// Empty as well where the profile lacks what the models need.
std::optional<double> predicted_reads(const Point& point, const Device& device) {
  if (!device.sms || !device.l2.sector_bytes) return std::nullopt;
  for (const Prediction& prediction : predict(point, device)) {
    if (prediction.counter == "dram_read_bytes") return prediction.value;
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

std::string name_of(const AttentionCase& point) {
  const kernels::AttentionVariant& v = point.variant;
  const kernels::AttentionProblem& p = point.problem;
  std::string name = "head dim " + std::to_string(p.head_dim) + ", " + to_string(p.dtype);
  if (p.heads > 1) name += ", " + std::to_string(p.heads) + "/" + std::to_string(p.heads_kv) + " heads";
  return name + ", batch " + std::to_string(p.batch) + ", " + point.tiles_text() + ", " +
         std::to_string(v.ctas_per_sm) + (v.ctas_per_sm == 1 ? " CTA" : " CTAs") + " an SM";
}

/// Fills in one order of a length.
void add_row(const RecordedRow& row, const AttentionCase& point, const Device& device, OrderedPoint& at) {
  const bool sawtooth = point.variant.walk == KvOrder::kSawtooth;
  (sawtooth ? at.sawtooth_misses : at.cyclic_misses) =
      over_compulsory(counter_of(row, "dram_read_bytes"), point.problem);
  (sawtooth ? at.sawtooth_predicted : at.cyclic_predicted) =
      over_compulsory(predicted_reads(point, device), point.problem);
  (sawtooth ? at.sawtooth_tflops : at.cyclic_tflops) = teraflops(row);
}

/// Predicted saving of a configuration at another length.
std::optional<double> predicted_saving(AttentionCase point, std::int64_t tokens, const Device& device) {
  point.problem.tokens = tokens;
  point.variant.walk = KvOrder::kCyclic;
  const std::optional<double> cyclic = predicted_reads(point, device);
  point.variant.walk = KvOrder::kSawtooth;
  return saving(predicted_reads(point, device), cyclic);
}

std::int64_t sms_of(const Device& device) { return device.sms ? device.sms->value : 0; }

/// Lengths between which the closed form may not answer: one head may end anywhere, several fill whole rounds
/// of CTAs.
std::int64_t step_of(const AttentionCase& point, const Device& device) {
  const std::int64_t q_tile = point.variant.q_tile;
  return point.problem.batch * point.problem.heads == 1
             ? q_tile
             : point.variant.resident_ctas(sms_of(device)) * q_tile;
}

/// Predictions on at most kMaxPredicted lengths, so that thresholds show between measured ones.
std::vector<OrderedPoint> predicted_between(const OrderCurve& curve, const Device& device) {
  const std::int64_t first = curve.points.front().tokens, last = curve.points.back().tokens;
  const std::int64_t step = step_of(curve.configuration, device);
  if (step <= 0) return {};
  const std::int64_t stride = step * std::max<std::int64_t>((last - first) / step / kMaxPredicted, 1);
  std::vector<OrderedPoint> predicted;
  for (std::int64_t tokens = first; tokens <= last; tokens += stride) {
    AttentionCase point = curve.configuration;
    point.problem.tokens = tokens;
    OrderedPoint at;
    at.tokens = tokens;
    at.cyclic_predicted = over_compulsory(predicted_reads(point, device), point.problem);
    point.variant.walk = KvOrder::kSawtooth;
    at.sawtooth_predicted = over_compulsory(predicted_reads(point, device), point.problem);
    predicted.push_back(at);
  }
  return predicted;
}

}  // namespace

std::optional<double> OrderedPoint::measured_saving() const { return saving(sawtooth_misses, cyclic_misses); }
std::optional<double> OrderedPoint::predicted_saving() const {
  return saving(sawtooth_predicted, cyclic_predicted);
}

std::vector<OrderCurve> order_curves(const Recording& recording, const Device& device) {
  std::vector<OrderCurve> curves;
  for (const RecordedRow& row : recording.rows) {
    const auto* const point = row.point.as<AttentionCase>();
    if (point == nullptr || row.status != kMeasured || point->problem.causal || point->variant.ctas != 0 ||
        point->variant.schedule != CtaSchedule::kPersistent || point->variant.walk == KvOrder::kDescending) {
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
    curve.configuration.variant.walk = KvOrder::kCyclic;
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
  for (std::int64_t tokens = step; step > 0 && tokens <= kMaxTokens; tokens += step) {
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
    const auto* const point = row.point.as<AttentionCase>();
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
    const auto* const point = row.point.as<StreamCase>();
    if (point == nullptr || point->ctas == 0 || point->step_cycles == 0 || point->passes < 2 ||
        point->order != KvOrder::kSawtooth) {
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

}  // namespace natten_sim::validate

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/fit/linear_fit.hpp>
#include <natten_sim/models/scatter/contention_fit.hpp>
#include <natten_sim/models/scatter/swept_contention.hpp>

namespace natten_sim {
namespace {

bool contended(const ContentionPoint& point) {
  return !std::holds_alternative<UniformRows>(point.distribution);
}

double fitted_warps_in_flight(const ContentionProfile& base, const std::vector<ContentionCounter>& counters) {
  double sum = 0;
  for (const ContentionCounter& counter : counters) {
    // The sectors of the hot row, over its line's sectors and successes that change the word, are the
    // contenders of a line; all lines of the row together hold every warp in flight.
    const double share = changing_share(counter.type, UpdateValues::kNormal, 0, counter.max_multiplicity);
    const double row_sectors =
        static_cast<double>(counter.width * element_bytes(counter.type)) / kSectorBytes;
    const double base_sectors = 2 * static_cast<double>(counter.updates) * row_sectors;
    const double passes = 2 * static_cast<double>(counter.max_multiplicity) * share * row_sectors;
    const double warps_a_row = static_cast<double>(counter.width) / kWarpLanes;
    const double contenders = (counter.atom_sectors - base_sectors) / passes + 1;
    sum += std::log(contenders * warps_a_row / static_cast<double>(counter.sms));
  }
  if (counters.empty()) return base.warps_in_flight;
  return std::exp(sum / static_cast<double>(counters.size()));
}

/// Launch and issue costs, from the uniform points.
void fit_issue(const std::vector<const ContentionPoint*>& used, ContentionProfile& profile) {
  std::vector<std::vector<double>> rows;
  std::vector<double> times;
  for (const ContentionPoint* point : used) {
    if (contended(*point)) continue;
    const ScatterLoad load = load_of(*point);
    const double warps = static_cast<double>(warp_instructions(load));
    const bool red = load.path == InstructionPath::kRed;
    rows.push_back({1, red ? warps : 0, red ? 0 : warps});
    times.push_back(point->time_ns);
  }
  const std::vector<double> stream = linear_fit(rows, times, "uniform points");
  profile.launch_ns = stream[0];
  profile.issue_red_ns = stream[1];
  profile.issue_cas_ns = stream[2];
}

/// Service of a line, from the contended points, once the launch is known.
void fit_service(const std::vector<const ContentionPoint*>& used, ContentionProfile& profile) {
  std::vector<std::vector<double>> rows;
  std::vector<double> times;
  double logs = 0, contended_cas = 0;
  for (const ContentionPoint* point : used) {
    if (!contended(*point)) continue;
    const ScatterLoad load = load_of(*point);
    const double served = point->time_ns - profile.launch_ns;
    if (load.path == InstructionPath::kRed) {
      rows.push_back({static_cast<double>(load.serial_multiplicity)});
      times.push_back(served);
      continue;
    }
    ContentionProfile unit = profile;  // the prediction is linear in the service once it has collapsed
    unit.cas_service_ns = 1e3;
    const ContentionPrediction prediction = predict_contention(load, unit);
    logs += std::log(served / (prediction.hottest_address_ns / unit.cas_service_ns));
    ++contended_cas;
  }
  profile.red_service_ns = linear_fit(rows, times, "contended fp32 points")[0];
  if (contended_cas == 0) throw InvalidParameter("points", "0 contended 16-bit points", "at least one");
  profile.cas_service_ns = std::exp(logs / contended_cas);
}

double rms_log_error(const std::vector<const ContentionPoint*>& used, const ContentionProfile& profile) {
  double squares = 0;
  for (const ContentionPoint* point : used) {
    const double error = std::log(predict_contention(load_of(*point), profile).time_ns / point->time_ns);
    squares += error * error;
  }
  return std::sqrt(squares / static_cast<double>(used.size()));
}

}  // namespace

ScatterLoad load_of(const ContentionPoint& point) {
  ScatterLoad load;
  load.updates = point.updates;
  load.rows_touched = std::min(point.updates, point.rows);
  load.max_multiplicity = load.serial_multiplicity = point.max_multiplicity;
  load.width = point.width;
  load.type = point.type;
  load.path = load.type == Dtype::kFp32 ? InstructionPath::kRed : InstructionPath::kCas;
  load.prior_runs = point.prior_runs;
  const double elements = static_cast<double>(point.updates) * static_cast<double>(point.width);
  load.streamed_bytes = elements * static_cast<double>(element_bytes(load.type)) +
                        index_bytes(point.index, point.updates, point.width);
  return load;
}

ContentionFit fit_contention(const ContentionProfile& base, const std::vector<ContentionPoint>& points,
                             const std::vector<ContentionCounter>& counters) {
  ContentionFit fit;
  fit.profile = base;
  fit.profile.sweep.reset();  // these constants are those of devices that were not swept
  fit.profile.warps_in_flight = fitted_warps_in_flight(base, counters);
  std::vector<const ContentionPoint*> used;
  for (const ContentionPoint& point : points) {
    if (point.device == base.device && point.fitted) used.push_back(&point);
  }
  fit_issue(used, fit.profile);
  fit_service(used, fit.profile);
  fit.points = static_cast<std::int64_t>(used.size());
  fit.rms_log_error = rms_log_error(used, fit.profile);
  return fit;
}

CalibrationError calibration_error(const ContentionProfile& profile,
                                   const std::vector<ContentionPoint>& points) {
  CalibrationError error;
  double logs = 0;
  for (const ContentionPoint& point : points) {
    if (point.device != profile.device) continue;
    ++(point.fitted ? error.fitted_points : error.unfitted_points);
    if (point.fitted) continue;
    const double ratio = predict_contention(load_of(point), profile).time_ns / point.time_ns;
    error.unfitted_worst_ratio = std::max({error.unfitted_worst_ratio.value_or(1), ratio, 1 / ratio});
    logs += std::abs(std::log(ratio));
  }
  if (error.unfitted_points > 0)
    error.unfitted_mean_ratio = std::exp(logs / static_cast<double>(error.unfitted_points));
  return error;
}

CalibrationError calibration_error(const ContentionProfile& profile, const ScatterLoad& load,
                                   const ContentionPrediction& prediction, bool other_construct) {
  CalibrationError error;
  error.kind = kind_of(load, prediction);
  error.outside = outside_sweep(load, *profile.sweep);
  if (other_construct) error.outside.emplace_back("construct");
  for (const SweepError& each : profile.sweep->errors) {
    if (each.kind != error.kind) continue;
    error.fitted_points = each.fitted_points;
    error.unfitted_points = each.unfitted_points;
    error.unfitted_worst_ratio = each.unfitted_worst_ratio;
    error.unfitted_mean_ratio = each.unfitted_mean_ratio;
  }
  error.interval = swept_interval(load, profile, prediction, error);
  return error;
}

}  // namespace natten_sim

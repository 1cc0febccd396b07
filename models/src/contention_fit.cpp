#include <cmath>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/contention_fit.hpp>

#include "least_squares.hpp"

namespace natten_sim {
namespace {

bool contended(const ContentionPoint& point) { return point.distribution != "uniform"; }

double fitted_warps_in_flight(const ContentionProfile& base, const std::vector<ContentionCounter>& counters) {
  double sum = 0;
  for (const ContentionCounter& counter : counters) {
    // The sectors of the hot row, over its line's sectors and successes that change the word, are the
    // contenders of a line; all lines of the row together hold every warp in flight.
    const ElementType type = element_type(counter.type);
    const double share = changing_share(type, UpdateValues::kNormal, 0, counter.max_multiplicity);
    const double row_sectors = static_cast<double>(counter.width * element_bytes(type)) / kSectorBytes;
    const double base_sectors = 2 * static_cast<double>(counter.updates) * row_sectors;
    const double passes = 2 * static_cast<double>(counter.max_multiplicity) * share * row_sectors;
    const double warps_a_row = static_cast<double>(counter.width) / kWarpLanes;
    const double contenders = (counter.atom_sectors - base_sectors) / passes + 1;
    sum += std::log(contenders * warps_a_row / static_cast<double>(contention_profile(counter.device).sms));
  }
  if (counters.empty()) return base.warps_in_flight;
  return std::exp(sum / static_cast<double>(counters.size()));
}

}  // namespace

ScatterLoad load_of(const ContentionPoint& point) {
  ScatterLoad load;
  load.updates = point.updates;
  load.rows_touched = std::min(point.updates, point.rows);
  load.max_multiplicity = load.serial_multiplicity = point.max_multiplicity;
  load.width = point.width;
  load.type = element_type(point.type);
  load.path = load.type == ElementType::kFp32 ? InstructionPath::kRed : InstructionPath::kCas;
  load.prior_runs = point.prior_runs;
  const double elements = static_cast<double>(point.updates) * static_cast<double>(point.width);
  const double index = point.device == "h200" ? 8 * elements : 8.0 * static_cast<double>(point.updates);
  load.streamed_bytes = elements * static_cast<double>(element_bytes(load.type)) + index;
  return load;
}

ContentionFit fit_contention(const ContentionProfile& base, const std::vector<ContentionPoint>& points,
                             const std::vector<ContentionCounter>& counters) {
  ContentionFit fit;
  fit.profile = base;
  fit.profile.warps_in_flight = fitted_warps_in_flight(base, counters);
  std::vector<const ContentionPoint*> used;
  for (const ContentionPoint& point : points) {
    if (point.device == base.device && point.fitted) used.push_back(&point);
  }

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
  const std::vector<double> stream = relative_least_squares(rows, times, "uniform points");
  fit.profile.launch_ns = stream[0];
  fit.profile.issue_red_ns = stream[1];
  fit.profile.issue_cas_ns = stream[2];

  rows.clear();
  times.clear();
  double logs = 0, contended_cas = 0;
  for (const ContentionPoint* point : used) {
    if (!contended(*point)) continue;
    const ScatterLoad load = load_of(*point);
    const double multiplicity = static_cast<double>(load.serial_multiplicity);
    const double served = point->time_ns - fit.profile.launch_ns;
    if (load.path == InstructionPath::kRed) {
      rows.push_back({multiplicity});
      times.push_back(served);
      continue;
    }
    ContentionProfile unit = fit.profile;  // the prediction is linear in the service once it has collapsed
    unit.cas_service_ns = 1e3;
    const ContentionPrediction prediction = predict_contention(load, unit);
    logs += std::log(served / (prediction.hottest_address_ns / unit.cas_service_ns));
    ++contended_cas;
  }
  fit.profile.red_service_ns = relative_least_squares(rows, times, "contended fp32 points")[0];
  if (contended_cas == 0) throw InvalidParameter("points", "0 contended 16-bit points", "at least one");
  fit.profile.cas_service_ns = std::exp(logs / contended_cas);

  double squares = 0;
  for (const ContentionPoint* point : used) {
    const double error = std::log(predict_contention(load_of(*point), fit.profile).time_ns / point->time_ns);
    squares += error * error;
  }
  fit.points = static_cast<std::int64_t>(used.size());
  fit.rms_log_error = std::sqrt(squares / static_cast<double>(used.size()));
  return fit;
}

}  // namespace natten_sim

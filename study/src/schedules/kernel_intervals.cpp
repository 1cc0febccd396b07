#include "schedules/kernel_intervals.hpp"

#include <algorithm>
#include <cmath>

#include <natten_sim/io/schedule_costs.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>

namespace natten_sim::study {

KernelIntervals::KernelIntervals(const ScheduleMask& mask, const BackwardCall& call, KernelScheduleAnswer& answer)
    : answer_(answer), left_out_(left_out_times(*answer.costs)) {
  call_.mask = mask_text(mask);
  call_.tokens = call.kv_tokens;
  call_.heads = call.heads * call.batch;
  call_.heads_per_kv_head = call.heads / call.heads_kv;
}

std::optional<CallInterval> KernelIntervals::around(double value, const std::optional<NearbyError>& error,
                                                    IntervalBasis basis) const {
  if (!error) return std::nullopt;
  const ScheduleCostSet& costs = *answer_.costs;
  const Outside outside = outside_of(basis == IntervalBasis::kJudged ? costs.judged : left_out_, call_);
  const double factor = std::pow(error->factor, 1 + outside.doublings);
  return CallInterval{value / factor, value * factor, error->points, basis, outside.of};
}

/// None: nobody timed a launch of this mode.
std::optional<CallInterval> KernelIntervals::of_time(double time_ms, double floor_ms) const {
  const ScheduleCostSet& costs = *answer_.costs;
  std::optional<CallInterval> interval;
  if (has_mode(costs.judged, call_)) {
    interval = around(time_ms, nearby_error(costs.judged, call_), IntervalBasis::kJudged);
  } else if (has_mode(left_out_, call_)) {
    interval = around(time_ms, left_out_error(left_out_), IntervalBasis::kLeftOut);
  }
  if (interval) interval->low = std::max(interval->low, std::min(floor_ms, time_ms));
  return interval;
}

void KernelIntervals::add_unordered(double floor_ms) {
  KernelRunTime& run = *answer_.not_deterministic;
  run.interval_ms = of_time(run.time_ms, floor_ms);
}

void KernelIntervals::add_ordered(double floor_ms, const std::function<double()>& slowest_ms) {
  call_.algorithm = answer_.ordered->algorithm;
  const KernelRunTime& unordered = *answer_.not_deterministic;
  KernelRunTime& run = *answer_.deterministic;
  run.interval_ms = of_time(run.time_ms, floor_ms);
  const bool judged = has_mode(answer_.costs->judged, call_);
  if (!run.interval_ms && !judged && unordered.interval_ms && floor_ms > 0) {
    const double beyond = unordered.interval_ms->high / unordered.time_ms;
    run.interval_ms = {std::min(floor_ms, run.time_ms), slowest_ms() * beyond, 0, IntervalBasis::kPhysical,
                       unordered.interval_ms->outside};
  }
  if (!answer_.ratio || !run.interval_ms) return;
  if (judged) {
    answer_.ratio_interval =
        around(*answer_.ratio, nearby_ratio_error(answer_.costs->judged, call_), IntervalBasis::kJudged);
    return;
  }
  answer_.ratio_interval = run.interval_ms;  // what both runs share cancels
  answer_.ratio_interval->low = unordered.time_ms / run.interval_ms->high;
  answer_.ratio_interval->high = unordered.time_ms / run.interval_ms->low;
}

}  // namespace natten_sim::study

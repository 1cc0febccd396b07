#pragma once

#include <functional>

#include <natten_sim/search/schedules/backward_kernel.hpp>
#include <natten_sim/study/kernel_schedule.hpp>

#include "schedules/judged_times.hpp"

namespace natten_sim::study {

/// Puts intervals around the times of an answer, as IntervalBasis tells. None is below the floor of the device.
class KernelIntervals {
 public:
  /// Keeps a reference to the answer, whose costs and kernel are known.
  KernelIntervals(const ScheduleMask& mask, const BackwardCall& call, KernelScheduleAnswer& answer);

  void add_unordered(double floor_ms);
  /// Also that of the ratio. `slowest_ms` is asked where nobody timed the launch.
  void add_ordered(double floor_ms, const std::function<double()>& slowest_ms);

 private:
  [[nodiscard]] std::optional<CallInterval> around(double value, const std::optional<NearbyError>& error,
                                                   IntervalBasis basis) const;
  [[nodiscard]] std::optional<CallInterval> of_time(double time_ms, double floor_ms) const;

  KernelScheduleAnswer& answer_;
  std::vector<JudgedTime> left_out_;  ///< fitted times, each predicted from the others
  JudgedTime call_;
};

}  // namespace natten_sim::study

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/core/schedule_costs.hpp>
#include <natten_sim/core/schedule_mask.hpp>
#include <natten_sim/search/schedules/backward_kernel.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/schedule.hpp>

namespace natten_sim::study {

/// How many milliseconds does the backward pass of a known kernel take, deterministic and not?
///
///     study::KernelScheduleQuestion question;
///     question.kernel = "fa4";
///     question.device = "h200";
///     question.q_tokens = 8192;
///     question.heads = 16;
///     study::KernelScheduleAnswer answer = study::kernel_schedule(question, study::default_context());
///     double ms = answer.deterministic->time_ms;
struct KernelScheduleQuestion {
  KernelChoice kernel;  ///< a name, name@release, or of a file that describes a backward pass
  std::string device;
  std::int64_t q_tokens = 1;              ///< 1 to 2^40
  std::optional<std::int64_t> kv_tokens;  ///< none: as many as queries
  std::int64_t head_dim = 128;            ///< 1 to 65,536
  std::int32_t heads = 1;
  std::optional<std::int32_t> heads_kv;  ///< a divisor of the heads; none: heads
  std::int32_t batch = 1;
  ScheduleMask mask;  ///< full, causal or a window
  Dtype dtype = Dtype::kBf16;
  std::optional<std::string> costs;  ///< name of a cost set; none: the kernel's own on this device
};

/// What an interval rests on. kJudged: the errors of the nearest calls that were predicted before they were measured;
/// 9 of 10 lie in it. kLeftOut: the largest error of fitted times, each predicted from the others. kPhysical: nobody
/// timed such a launch; from the device's peak rates to the slowest launch of the kernel, and as far beyond as its
/// unordered times may be.
enum class IntervalBasis { kJudged, kLeftOut, kPhysical };

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::IntervalBasis> {
  static constexpr const char* kConcept = "basis";
  static constexpr Name<study::IntervalBasis> kTable[] = {{study::IntervalBasis::kJudged, "judged"},
                                                          {study::IntervalBasis::kLeftOut, "left-out"},
                                                          {study::IntervalBasis::kPhysical, "physical"}};
};

}  // namespace natten_sim

namespace natten_sim::study {

/// Something of a call that no timed call had: more or fewer tokens, or masks of another kind (no numbers).
struct OutsideTimed {
  std::string quantity;
  std::optional<std::int64_t> value, least, most;  ///< of the call, and of those that were timed
};

struct CallInterval {
  double low = 0, high = 0;
  std::int64_t points = 0;  ///< calls that it rests on: 20 or a few more; 9 to 19 where there are no more
  IntervalBasis basis = IntervalBasis::kJudged;
  /// Then the interval is wider: the error counts once more for each doubling of the length beyond them, and
  /// twice more for another mask.
  std::vector<OutsideTimed> outside;
};

struct KernelRunTime {
  double time_ms = 0;  ///< the whole call, with the kernels before and after the main one
  std::optional<CallInterval> interval_ms;  ///< none: nobody judged times of these costs, or fewer than 9
  /// Five products of the pairs that attend; of a causal mask half of all pairs, as benchmarks count.
  double tflops_per_s = 0;
  double makespan_us = 0;  ///< of the main kernel
  double waiting_us = 0;   ///< of its workers, for turns, on average
  double lower_bound_us = 0;
};

struct KernelScheduleAnswer {
  BackwardKernel kernel;
  MaskClass mask = MaskClass::kFull;
  TileTokens tiles;  ///< of one CTA
  std::int32_t ctas_per_tile = 1;
  std::int32_t workers = 0;
  std::int64_t kv_tokens = 0;
  std::int32_t heads_kv = 0;
  std::optional<BackwardLaunch> ordered;  ///< none: the kernel has no deterministic launch here
  BackwardLaunch unordered;
  std::optional<ScheduleCostSet> costs;  ///< none: nobody has measured the kernel there
  std::string missing;                   ///< then: why there are no times
  std::optional<KernelRunTime> deterministic, not_deterministic;
  /// Beyond 2^27 tasks times are extrapolated, by the number of tasks, from this length and its half.
  std::optional<std::int64_t> extrapolated_from_tokens;
  /// Throughput when deterministic over throughput when not.
  std::optional<double> ratio;
  std::optional<CallInterval> ratio_interval;  ///< none: one of the two times has none
};

/// @throws InvalidParameter for masks that are neither full, causal nor a window.
[[nodiscard]] MaskClass kernel_mask_class(const ScheduleMask& mask);

/// Simulates both runs. @throws UnknownName for a kernel, release, device or cost set; InvalidParameter for
/// sizes out of range, masks that are neither full, causal nor a window, architectures, head dims and element
/// types that the kernel does not have, and costs of another kernel, device or head dim.
[[nodiscard]] KernelScheduleAnswer kernel_schedule(const KernelScheduleQuestion& question,
                                                   const Context& context);

/// The deterministic run of the answer as a question to `schedule`, for pictures and tables: the kernel's
/// tiles, launch and costs, in microseconds. @throws InvalidParameter where the kernel has no deterministic
/// launch or no costs.
[[nodiscard]] ScheduleQuestion deterministic_run(const KernelScheduleQuestion& question,
                                                 const KernelScheduleAnswer& answer);

}  // namespace natten_sim::study

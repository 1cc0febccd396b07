#pragma once

#include <optional>
#include <string>

#include <natten_sim/study/advise.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/mask.hpp>
#include <natten_sim/study/msda.hpp>
#include <natten_sim/study/plan.hpp>
#include <natten_sim/study/reuse.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/study/schedule.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::study {

/// What an answer takes, told before anything is done: in closed form, within a factor of two of what is then
/// measured (tests/unit/study/estimate_test.cpp), give or take 10,000 steps and a mebibyte.
///
///     const Estimate estimate = study::estimate(question, context);
///     if (estimate.bytes > room) return refusal(estimate.option, estimate.value);
struct Estimate {
  /// Turns of loops, each some ten to a hundred nanoseconds: as many as the token of cancellation is polled.
  /// At most so many where a search may end earlier.
  double steps = 0;
  double bytes = 0;    ///< of memory at its peak, beside the program's own
  std::string option;  ///< the one that makes it large
  std::string value;   ///< of that option
  bool at_most = false;  ///< of a search, which ends as soon as nothing better is left
};

/// None for rows or accesses of the caller's own, whose number is known when they have been read.
/// @throws what answering the question would throw before its work begins.
[[nodiscard]] std::optional<Estimate> estimate(const ReuseQuestion& question, const Context& context);
[[nodiscard]] std::optional<Estimate> estimate(const ScatterQuestion& question);
[[nodiscard]] Estimate estimate(const ScheduleQuestion& question, const Context& context);
/// The same for a problem that was made from the question already, as ScheduleQuestion::begins gets it.
[[nodiscard]] Estimate estimate(const ScheduleQuestion& question, const BackwardProblem& problem);
[[nodiscard]] Estimate estimate(const MsdaQuestion& question, const Context& context);
[[nodiscard]] Estimate estimate(const CountQuestion& question, const Context& context);
[[nodiscard]] Estimate estimate(const MaskQuestion& question, const Context& context);
/// Searches, on each device: at most so much.
[[nodiscard]] Estimate estimate(const DevicesSearch& question, const Context& context);
[[nodiscard]] Estimate estimate(const AdviseQuestion& question, const Context& context);
[[nodiscard]] Estimate estimate(const PlanQuestion& question, const Context& context);

}  // namespace natten_sim::study

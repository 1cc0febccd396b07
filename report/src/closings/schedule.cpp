#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/kernel_schedule_report.hpp>
#include <natten_sim/report/schedule_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

namespace natten_sim::report {
namespace {

constexpr double kHardlyAny = 0.005;

const char* loss_text(study::ScheduleLoss loss) {
  switch (loss) {
    case study::ScheduleLoss::kStartup:
      return "before their first task";
    case study::ScheduleLoss::kWaitForTurn:
      return "waiting for their turn to reduce";
    case study::ScheduleLoss::kTail:
      return "behind their last task";
    case study::ScheduleLoss::kNothing:
      break;
  }
  return "nowhere";
}

std::string limit_of(const study::ScheduleConclusion& end) {
  if (end.loss == study::ScheduleLoss::kNothing)
    return fmt::format("under {} no worker is ever idle", end.from);
  return fmt::format("under {} workers spend {:.1f}% of their time {}", end.from, 100 * end.loss_share,
                     loss_text(end.loss));
}

/// What determinism costs.
std::string order_text(const study::KernelScheduleAnswer& answer) {
  const study::KernelRunTime& run = *answer.deterministic;
  switch (answer.ordered->memory) {
    case KernelMemory::kDqPerCta:
      return "longer chains and a dQ buffer for each CTA cost work, and nobody waits for a turn";
    case KernelMemory::kScores:
      return "storing dP and a second pass for dQ cost work, and nobody waits for a turn";
    case KernelMemory::kOneDq:
      break;
  }
  const double waiting = run.waiting_us / run.makespan_us;
  if (waiting < kHardlyAny) return "taking turns costs work, and hardly any waiting";
  return fmt::format("fixed turns keep the workers waiting for {:.1f}% of the kernel", 100 * waiting);
}

/// Why the deterministic time is a guess.
std::string assumed_text(const study::KernelScheduleAnswer& answer) {
  const std::vector<KernelLaunch>& launches = answer.kernel.launches;
  const bool stores = std::any_of(launches.begin(), launches.end(), [](const KernelLaunch& launch) {
    return launch.memory == KernelMemory::kScores;
  });
  return stores ? "nobody measured this launch: turns and the dP pass are assumed"
                : "nobody measured this launch: turns are assumed";
}

/// "2.78 ms to 8.14 ms".
std::string range_text(const study::CallInterval& interval) {
  return duration_text(interval.low) + " to " + duration_text(interval.high);
}

std::string certainty_of(const study::KernelRunTime& run) {
  if (!run.interval_ms) return "simulated with costs whose times nobody judged";
  const study::CallInterval& interval = *run.interval_ms;
  const double percent = 100 * (interval.high / run.time_ms - 1);
  if (!interval.outside.empty())
    return fmt::format("extrapolated from measured costs, outside of what was measured: {}; the time may be {:.0f}% more",
                       outside_text(interval), percent);
  if (interval.basis == study::IntervalBasis::kJudged)
    return fmt::format("simulated with measured costs; 9 of 10 calls near it took within {:.1f}% of what was predicted",
                       percent);
  return fmt::format("simulated with measured costs; published times that were left out are off by {:.1f}% at most", percent);
}

}  // namespace

Closing closing_of(const study::ScheduleAnswer& answer, const study::ScheduleConclusion& end) {
  Closing closing;
  closing.certainty = "all were simulated event by event, and are as good as the costs";
  if (end.from.empty()) {
    closing.limit = "no schedule of this problem finishes";
    closing.certainty = "each was simulated event by event";
    return closing;
  }
  closing.limit = limit_of(end);
  if (end.fastest.empty()) {
    closing.limit += fmt::format(", {}% above the lower bound", ratio_text(100 * end.gap, 1));
    closing.certainty = "it was simulated event by event, and is as good as the costs";
    return closing;
  }
  if (end.fastest == end.from || end.gain <= 1) {
    closing.change = "no other deterministic schedule that was run is faster";
  } else {
    closing.change = "first take " + end.fastest;
    closing.gain = end.gain;
    closing.gain_text = fmt::format("{}x faster, {} instead of {}", ratio_text(end.gain),
                                    short_number(end.fastest_makespan), short_number(end.from_makespan));
    closing.options["algorithm"] = end.fastest;
  }
  if (end.flip) {
    closing.certainty +=
        fmt::format("; with a handoff of {} ({} computes) or {}, {} is faster",
                    short_number(end.flip->handoff), short_number(end.flip->handoff / answer.costs.compute),
                    end.flip->above ? "more" : "less", end.flip->to);
  } else if (end.flip_asked) {
    closing.certainty += fmt::format(
        "; that stays so for {}", answer.costs.handoff > 0 ? "shorter handoffs, and four computes longer ones"
                                                           : "handoffs of up to four computes");
  }
  return closing;
}

Closing closing_of(const study::KernelScheduleAnswer& answer) {
  Closing closing;
  if (!answer.deterministic || !answer.not_deterministic || !answer.ratio) {
    closing.limit = "nobody has measured what the tasks of this kernel cost here";
    closing.change = "first take a kernel, device and head dim that have costs, as 'no times' lists";
    closing.certainty = "the launch is read from the kernel's source";
    return closing;
  }
  const study::KernelRunTime& run = *answer.deterministic;
  const study::KernelRunTime& unordered = *answer.not_deterministic;
  const bool assumed = run.interval_ms && run.interval_ms->basis == study::IntervalBasis::kPhysical;
  closing.limit = assumed ? assumed_text(answer) : order_text(answer);
  closing.certainty = certainty_of(assumed ? unordered : run);
  const double gain = run.time_ms / unordered.time_ms;
  if (assumed || gain <= 1) {  // as where dQ is cleared only without an order
    closing.limit += fmt::format("; without determinism a call takes {} instead of {}", duration_text(unordered.time_ms),
                                 assumed ? range_text(*run.interval_ms) : duration_text(run.time_ms));
    return closing;
  }
  closing.change = "without determinism";
  closing.gain = gain;
  closing.gain_text = fmt::format("{}x faster, {} instead of {}; no order saves more than {:.2f}x", ratio_text(gain),
                                  duration_text(unordered.time_ms), duration_text(run.time_ms),
                                  run.makespan_us / run.lower_bound_us);
  return closing;
}

}  // namespace natten_sim::report

#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/schedule_report.hpp>
#include <natten_sim/report/text_table.hpp>

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
  const double waiting = run.waiting_us / run.makespan_us;
  closing.limit =
      waiting < kHardlyAny
          ? "taking turns costs work, and hardly any waiting"
          : fmt::format("fixed turns keep the workers waiting for {:.1f}% of the kernel", 100 * waiting);
  closing.certainty = "simulated with measured costs";
  if (run.interval_ms)
    closing.certainty += fmt::format("; 9 of 10 calls near it took within {:.1f}% of what was predicted",
                                     100 * (run.interval_ms->high / run.time_ms - 1));
  const double gain = run.time_ms / answer.not_deterministic->time_ms;
  if (gain <= 1) {  // as where dQ is cleared only without an order
    closing.limit += fmt::format("; without determinism a call takes {:.3g} ms instead of {:.3g} ms",
                                 answer.not_deterministic->time_ms, run.time_ms);
    return closing;
  }
  closing.change = "without determinism";
  closing.gain = gain;
  closing.gain_text = fmt::format(
      "{}x faster, {:.3g} ms instead of {:.3g} ms; no order saves more than {:.2f}x", ratio_text(gain),
      answer.not_deterministic->time_ms, run.time_ms, run.makespan_us / run.lower_bound_us);
  return closing;
}

}  // namespace natten_sim::report

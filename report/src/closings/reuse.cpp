#include <cmath>

#include <fmt/format.h>

#include <natten_sim/core/names.hpp>
#include <natten_sim/report/closing.hpp>

#include "../score_of_reads.hpp"

namespace natten_sim::report {
namespace {

std::string read_text(std::int64_t bytes) {
  constexpr double kMiB = 1024.0 * 1024.0, kGiB = 1024.0 * kMiB;
  const double size = static_cast<double>(bytes);
  return size >= kGiB ? fmt::format("{:.2f} GiB", size / kGiB) : fmt::format("{:.2f} MiB", size / kMiB);
}

std::string what_returns(const study::ReuseSubject& subject) {
  if (std::holds_alternative<study::AttentionSubject>(subject)) return "K and V return";
  return std::holds_alternative<study::StreamSubject>(subject) ? "parts of the buffer return" : "data return";
}

std::string walk_name(const study::ReuseChange& change) {
  return change.order ? std::string(to_string(*change.order)) + " order"
                      : std::string(to_string(*change.launch)) + " launch";
}

/// Closing of a timed run in which another walk reads less in the same time.
std::string idle_text(const study::ReuseConclusion& end) {
  const study::ReuseChange& idle = *end.idle;
  return fmt::format("no other walk is faster: {} reads {} instead of {} and takes {:.2f} of the time",
                     walk_name(idle), read_text(idle.read_bytes), read_text(end.read_bytes),
                     1 / *idle.time_gain);
}

void say_change(const study::ReuseConclusion& end, Closing& closing) {
  const study::ReuseChange& change = *end.change;
  const std::string name = change.order ? to_string(*change.order) : to_string(*change.launch);
  closing.change = change.order ? "first walk the KV tiles in " + name + " order" : "first launch " + name;
  if (change.order) {
    closing.options["order"] = name;
  } else {
    closing.options["interleave_heads"] = *change.launch == LaunchOrder::kHeadsFirst;
  }
  closing.gain = change.gain;
  closing.gain_text = fmt::format("{} instead of {}, {:.2f}x fewer", read_text(change.read_bytes),
                                  read_text(end.read_bytes), change.gain);
  if (change.time_gain) closing.gain_text += fmt::format(", in {:.2f} of the time", 1 / *change.time_gain);
}

std::string limit_of(const study::ReuseAnswer& answer, const study::ReuseConclusion& end) {
  const std::string at = end.seqlen ? fmt::format("at {} tokens ", *end.seqlen) : std::string();
  switch (end.limit) {
    case study::ReuseLimit::kNoCache:
      return "no cache was named, so nothing can miss";
    case study::ReuseLimit::kUnanswered:
      return at + "no formula says what misses on this walk";
    case study::ReuseLimit::kCompulsory:
      return at + "all that is read from DRAM is read once";
    case study::ReuseLimit::kCapacity:
      break;
  }
  return fmt::format("{}{} after the L2 has lost them, so DRAM is read {:.2f} times as much as once", at,
                     what_returns(answer.question.subject), end.reads_of_cold);
}

/// "29.00 to 52.10 GiB for a lookahead of 0 to 2 tiles".
std::string influence_text(const study::ReuseInfluence& influence) {
  return fmt::format("{} to {} for {} {}", read_text(influence.low_bytes), read_text(influence.high_bytes),
                     influence.input, influence.values);
}

/// Inputs that the answer is sensitive to: an interval, and numbers that nobody measured.
std::string hangs_on(const study::ReuseAnswer& answer, const study::ReuseConclusion& end) {
  std::string text;
  if (end.interval) {
    std::vector<std::string> parts;
    for (const study::ReuseInfluence& influence : end.interval->influences)
      parts.push_back(influence_text(influence));
    if (!parts.empty()) text = "; sensitive to unmeasured inputs: " + joined(parts);
    const bool timed = std::holds_alternative<study::TimedRun>(*answer.question.method);
    if (parts.empty() && timed) text = "; no input that is not known moves it by 1%";
  } else if (end.interval_takes_long) {
    text = "; unmeasured inputs were not varied, which takes long here";
    if (answer.schedule_assumed) {
      const auto& subject = std::get<study::AttentionSubject>(answer.question.subject);
      text += fmt::format("; the schedule is assumed ({})", to_string(*subject.schedule));
    }
  }
  if (!answer.assumed_numbers.empty())
    text += "; not measured on this device: " + joined(answer.assumed_numbers);
  return text;
}

std::string assumption_of(const study::ReuseMethod& method) {
  return std::holds_alternative<study::TimedRun>(method)
             ? "CTAs were simulated in time, and a real kernel's drift differs"
             : "sectors are exact, misses are those of CTAs in lockstep, from which real kernels drift";
}

/// How far off such answers were, where it is known: first where nine of ten launches lie that were answered
/// so, then of how many that is said.
std::string certainty_of_method(const study::ReuseAnswer& answer, const study::ReuseConclusion& end) {
  const study::ReuseMethod& method = *answer.question.method;
  std::string text = assumption_of(method);
  const auto* subject = std::get_if<study::AttentionSubject>(&answer.question.subject);
  if (subject == nullptr || !answer.device) return text;
  const bool* const causal = std::get_if<bool>(&subject->causal);  // flags of axes: a neighborhood
  const bool neighborhood = subject->q_tile->rank() > 1 || subject->window || subject->mask;
  const ScoreOfReads score = score_of_reads({.fidelity = study::fidelity_of(method),
                                             .kernel = subject->kernel && !subject->kernel->own ? subject->kernel->name : "",
                                             .causal = causal != nullptr && *causal,
                                             .neighborhood = neighborhood});
  if (score.score == nullptr) return text;
  const double factor = 1 + score.score->p90, bytes = static_cast<double>(end.read_bytes);
  return fmt::format("nine of ten such launches read {} to {}: {} (DRAM reads of {})",
                     read_text(std::llround(bytes / factor)), read_text(std::llround(bytes * factor)), text,
                     score_text(score));
}

}  // namespace

Closing closing_of(const study::ReuseAnswer& answer, const study::ReuseConclusion& end) {
  Closing closing;
  closing.limit = limit_of(answer, end);
  closing.certainty = certainty_of_method(answer, end) + hangs_on(answer, end);
  closing.interval = end.interval;
  if (end.change) {
    say_change(end, closing);
  } else if (end.limit == study::ReuseLimit::kNoCache) {
    closing.change = "first name a device or the bytes of its L2";
  } else if (end.limit == study::ReuseLimit::kUnanswered) {
    closing.change = "first ask for fidelity lru";
    closing.options["fidelity"] = "lru";
  } else if (end.limit == study::ReuseLimit::kCapacity) {
    closing.change = end.idle    ? idle_text(end)
                     : end.asked ? "no other order reads less, so only shorter reuse would: a larger "
                                   "cache, or less data at a time"
                                 : "other orders were not asked, which takes long here";
  }
  return closing;
}

}  // namespace natten_sim::report

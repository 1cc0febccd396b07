#include <fmt/format.h>

#include <natten_sim/report/json_sink.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/time_report.hpp>

#include "time_members.hpp"

namespace natten_sim::report {
namespace {

constexpr double kSlower = 0.01;  // of launches back to back, worth a word

std::string length_text(LaunchLength length) {
  if (length == LaunchLength::kAny) return "";
  return fmt::format(" {} {} ms", length == LaunchLength::kShort ? "under" : "of at least", kShortLaunchMs);
}

std::string evidence_text(const CostEvidence& evidence) {
  if (evidence.origin != CostOrigin::kMeasured) {
    const std::string behind = evidence.points == 0
                                   ? "no left-out cell stands behind that"
                                   : fmt::format("of {} left-out cells", evidence.points);
    return fmt::format("{} costs ({}): within {:.0f}%, {}", to_string(evidence.origin),
                       evidence.source.substr(0, evidence.source.find(':')), 100 * evidence.interval, behind);
  }
  std::string text = fmt::format("costs of {} measured run{}", evidence.runs, evidence.runs == 1 ? "" : "s");
  if (evidence.left_out)
    text += fmt::format(", off by {:.1f}% on runs left out", 100 * evidence.left_out->mean);
  if (evidence.judged)
    text += fmt::format("; {:.0f}% of {} other measured launches{} lie inside", 100 * evidence.judged->inside,
                        evidence.judged->points, length_text(evidence.judged->length));
  return text;
}

/// Copies that were not timed as they are made.
std::string copies_text(const study::PassTime& time) {
  if (!time.copies || time.permutation_ms == 0.0) return "";
  switch (time.copies->origin) {
    case CopyOrigin::kMeasured:
      return "";
    case CopyOrigin::kTransferred:
      return fmt::format("\n  copies {} within {:.0f}%",
                         time.copies->source.substr(0, time.copies->source.find(':')),
                         100 * time.copies->interval);
    case CopyOrigin::kPytorch:
      return fmt::format(
          "\n  copies by PyTorch's operators; NATTEN's own, not timed there, may take {:.0f}% less",
          100 * time.copies->interval);
  }
  return "";
}

}  // namespace

std::string duration_text(double ms) {
  if (ms >= 1000) return short_text(1e-3 * ms) + " s";
  return ms >= 0.1 ? fmt::format("{:.3g} ms", ms) : fmt::format("{:.3g} us", 1e3 * ms);
}

void add_time_fields(const std::optional<study::TimeAnswer>& answer, Json& fields) {
  JsonTree sink(fields);
  if (answer) write_members(*answer, sink);
}

Json time_schema() { return schema_of<study::TimeAnswer>(); }

std::string dense_text(const study::PassTime& time) {
  return time.dense_kernel + (time.dense_masked ? ", causal" : "") + (time.dense_unordered ? ", not deterministic" : "");
}

std::string time_text(const std::optional<study::TimeAnswer>& answer, const std::string& unknown_copies) {
  if (!answer) return "";
  if (const auto* missing = std::get_if<study::MissingTime>(&*answer))
    return "no time: " + missing->sentence + "\n";
  const auto& time = std::get<study::PassTime>(*answer);
  std::string text = fmt::format("time {} ({} .. {})", duration_text(time.total_ms),
                                 duration_text(time.low_ms), duration_text(time.high_ms));
  if (time.back_to_back_ms && *time.back_to_back_ms > (1 + kSlower) * time.total_ms)
    text += fmt::format(" rested; back to back {}", duration_text(*time.back_to_back_ms));
  if (!time.permutation_ms) {
    text += unknown_copies;
  } else if (*time.permutation_ms > 0) {
    text += fmt::format(", copies {} of it", duration_text(*time.permutation_ms));
  }
  if (!time.repetition_ms) {
    text += ", K and V repeated for all heads not known";
  } else if (*time.repetition_ms > 0) {
    text += fmt::format(", K and V repeated for all heads {}", duration_text(*time.repetition_ms));
  }
  if (time.speedup)
    text += fmt::format("; {:.2f}x over {} ({})", *time.speedup, dense_text(time), duration_text(*time.dense_ms));
  text += copies_text(time);
  text += fmt::format("\n  most of it: {}; {:.4g} waves, {:.3g} TFLOP/s; {}\n", time.limited_by, time.waves,
                      time.tflops_per_s, evidence_text(time.evidence));
  if (!time.mask_function.empty())
    text += fmt::format("  mask function of partial blocks: {}, {:.3g} instructions a pair\n", time.mask_function,
                        time.mask_instructions);
  if (!time.unmeasured.empty()) text += "  " + time.unmeasured + "\n";
  return text;
}

}  // namespace natten_sim::report

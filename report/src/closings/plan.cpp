#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/time_report.hpp>

namespace natten_sim::report {
namespace {

/// The largest part of a step.
const char* largest_part(const study::PlanAnswer& answer, const study::PlanCase& plan) {
  const double calls =
      static_cast<double>(*answer.question.layers) * static_cast<double>(*answer.question.passes);
  const double attention = calls * plan.attention_ms.value, sent = calls * plan.communication_ms.value;
  const double rest = plan.rest_ms ? static_cast<double>(*answer.question.passes) * plan.rest_ms->value : 0;
  if (attention >= sent && attention >= rest) return "attention";
  return sent >= rest ? "communication" : "everything but attention";
}

}  // namespace

Closing closing_of(const study::PlanAnswer& answer) {
  Closing closing;
  const study::PlanCase& dense = answer.dense;
  const study::PlanCase& sparse = answer.sparse;
  closing.limit = fmt::format("most of a dense step is {}, of a sparse one {}", largest_part(answer, dense),
                              largest_part(answer, sparse));
  if (answer.speedup > 1) {
    closing.change = fmt::format("first take window {}, stride {}", to_string(answer.question.window),
                                 to_string(answer.question.stride));
    closing.options["window"] = to_json(answer.question.window);
    closing.options["stride"] = to_json(answer.question.stride);
    closing.gain = answer.speedup;
    closing.gain_text =
        fmt::format("{:.2f}x ({} to {})", answer.speedup, duration_text(1e3 * dense.seconds.value),
                    duration_text(1e3 * sparse.seconds.value));
  } else {
    closing.change = "keep dense attention";
  }
  closing.certainty =
      fmt::format("the sparse run takes {} to {} if each part keeps its bounds",
                  duration_text(1e3 * sparse.seconds.low), duration_text(1e3 * sparse.seconds.high));
  return closing;
}

}  // namespace natten_sim::report

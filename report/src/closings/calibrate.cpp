#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/calibrate_report.hpp>
#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/time_report.hpp>

namespace natten_sim::report {
namespace {

using study::CalibratedPass;
using study::SuggestedRun;

/// Less is known of a pass than of another if nothing was held against it, or its runs miss by more.
bool less_sure(const CalibratedPass& a, const CalibratedPass& b) {
  const auto &of_a = a.costs.evidence.left_out, &of_b = b.costs.evidence.left_out;
  return of_a && of_b ? of_a->mean > of_b->mean : !of_a && of_b;
}

std::string title_of_pass(const CalibratedPass& pass) {
  return fmt::format("{} on {}, {}, head dim {}", pass.kernel, pass.device,
                     pass.costs.pass == Walk::kForward ? "forward" : "backward", pass.head_dim);
}

}  // namespace

Closing closing_of(const study::CalibrateAnswer& answer) {
  Closing closing;
  const CalibratedPass* least = &answer.passes.front();
  std::size_t held = 0;
  double worst = 0;
  for (const CalibratedPass& pass : answer.passes) {
    if (less_sure(pass, *least)) least = &pass;
    if (!pass.costs.evidence.left_out) continue;
    held += pass.runs.size();
    worst = std::max(worst, pass.costs.evidence.left_out->worst);
  }
  const auto& left_out = least->costs.evidence.left_out;
  closing.limit = fmt::format("least is known of {}: ", title_of_pass(*least));
  closing.limit +=
      left_out ? fmt::format("a run that was left out is off by {:.1f}% on average", 100 * left_out->mean)
               : "no other run holds against its costs";
  if (!least->suggestions.empty()) {
    const SuggestedRun& next = least->suggestions.front();
    closing.change =
        fmt::format("first time layout {}, window {}", to_string(next.run.input), to_string(next.run.window));
    if (!next.run.stride.empty()) closing.change += fmt::format(", stride {}", to_string(next.run.stride));
    closing.gain_text = fmt::format("it is predicted as {} +- {:.1f}%", duration_text(next.predicted_ms),
                                    100 * next.uncertainty);
  }
  closing.certainty = held == 0
                          ? "nothing says how far other times will be off"
                          : fmt::format("of {} runs that were left out in turn the worst is off by {:.1f}%",
                                        held, 100 * worst);
  return closing;
}

}  // namespace natten_sim::report

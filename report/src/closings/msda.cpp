#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

std::string limit_of(const study::MsdaAnswer& answer, const study::MsdaPass& pass) {
  const double peak = answer.profile.dram_bytes_per_ns;
  switch (pass.time.bound) {
    case MsdaBound::kL2:
      return answer.own_kernel ? "the L1 takes one line of a row after the other"
                               : "reads of corners keep the L2 busy";
    case MsdaBound::kMemoryParallelism:
      return fmt::format("too few bytes are in flight: they allow {:.1f}% of DRAM's peak",
                         100 * pass.time.bandwidth_limit_bytes_per_ns / peak);
    case MsdaBound::kDram:
      return "DRAM moves bytes as fast as it can";
    case MsdaBound::kAtomics:
      return "additions to the value's gradient wait for each other";
    case MsdaBound::kChain:
      return "a warp waits for its loads, one sample after the other, and too few warps fill the wait";
    case MsdaBound::kIssue:
      return "SMs issue instructions as fast as they can";
    case MsdaBound::kLaunch:
      return "launches, and zeroing of gradients, take longer than the pass";
  }
  return "";
}

std::string certainty_of_run(const study::MsdaAnswer& answer) {
  if (answer.own_kernel) {
    if (!answer.error || !answer.error->outside.empty()) return "nothing like this was held out from the fit";
    return fmt::format("times of {} runs that no constant was fitted to were within {:.2f}x, {:.2f}x on average",
                       answer.error->unfitted_points, answer.error->unfitted_worst_ratio,
                       answer.error->unfitted_mean_ratio);
  }
  if (answer.kernel.borrowed_from.empty()) return "constants are fitted to published times of this device";
  return "constants are those of " + answer.kernel.borrowed_from +
         ", and on another device than theirs times have been off by several times";
}

}  // namespace

Closing closing_of(const study::MsdaAnswer& answer, const study::MsdaConclusion& end) {
  Closing closing;
  const study::MsdaPass& pass = answer.passes.front();
  closing.limit = limit_of(answer, pass);
  closing.certainty = certainty_of_run(answer);
  if (!end.change) {
    closing.change = "nothing that was asked is faster";
    return closing;
  }
  const study::MsdaChange& change = *end.change;
  if (change.tiling) {
    closing.change = std::string("first take ") + to_string(*change.tiling) + " tiling";
    closing.options["tiling"] = to_string(*change.tiling);
  } else if (change.accumulator) {
    closing.change = std::string("first add gradients up in ") + to_string(*change.accumulator);
    closing.options["accumulator"] = to_string(*change.accumulator);
  } else {
    closing.change = std::string("first dispatch queries in ") + to_string(*change.order) + " order";
    closing.options["order"] = to_string(*change.order);
  }
  closing.gain = change.gain;
  closing.gain_text = fmt::format("{}x faster, {} instead of {}", ratio_text(change.gain), time_text(change.time_ns),
                                  time_text(pass.time.time_ns));
  return closing;
}

}  // namespace natten_sim::report

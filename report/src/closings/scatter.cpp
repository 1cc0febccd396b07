#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

std::string limit_of(const study::ScatterAnswer& answer) {
  const ContentionPrediction& prediction = answer.cost.prediction;
  if (2 * prediction.launch_ns > prediction.time_ns)
    return fmt::format("the launch takes {} of {}", time_text(prediction.launch_ns),
                       time_text(prediction.time_ns));
  switch (prediction.bound) {
    case ContentionBound::kHottestAddress:
      return fmt::format("{} additions to the hottest row wait for each other ({})",
                         grouped(answer.cost.load.max_multiplicity), to_string(answer.cost.load.path));
    case ContentionBound::kSliceThroughput:
      return "the slices of the L2 add as fast as they can";
    case ContentionBound::kIssue:
      return "the SMs issue additions as fast as they can";
    case ContentionBound::kDram:
      return "DRAM moves bytes as fast as it can";
    case ContentionBound::kLaunch:
      return "the launch takes longer than the additions";
  }
  return "";
}

std::string certainty_of(const std::optional<CalibrationError>& error) {
  if (!error) return "the error is not asked for";
  if (!error->outside.empty())
    return "this lies outside of what was measured (" + joined(error->outside, ", ") +
           "), so only an interval is known";
  if (!error->unfitted_worst_ratio) return "nothing was measured that the constants were not fitted to";
  return fmt::format("times of {} runs not fitted are off by {:.2f}x on average, {:.2f}x at worst",
                     error->unfitted_points, *error->unfitted_mean_ratio, *error->unfitted_worst_ratio);
}

}  // namespace

Closing closing_of(const study::ScatterAnswer& answer) {
  Closing closing;
  closing.limit = limit_of(answer);
  closing.certainty = certainty_of(answer.calibration);
  const Remedy& best = answer.cost.remedies->front();
  const double gain = answer.cost.prediction.time_ns / best.time_ns;
  if (best.name == kAsIs) {
    closing.change = "no remedy is faster";
    return closing;
  }
  closing.change = "first take " + best.name;
  if (best.construct) closing.options["construct"] = *best.construct;
  if (best.blind)
    closing.certainty += fmt::format("; {} was predicted for {} runs before they were timed, half within {:.2f}x",
                                     best.name, best.blind->points, best.blind->median_ratio);
  closing.gain = gain;
  closing.gain_text = fmt::format("{}x faster, {} instead of {}", ratio_text(gain), time_text(best.time_ns),
                                  time_text(answer.cost.prediction.time_ns));
  if (best.extra_bytes > 0)
    closing.gain_text +=
        fmt::format(", for {} more memory", bytes_text(static_cast<double>(best.extra_bytes)));
  return closing;
}

}  // namespace natten_sim::report

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/validate/compare/saving.hpp>

namespace natten_sim::report {
namespace {

using validate::ComparisonRow;

/// Relative deviations of points that nothing was fitted to.
struct Deviations {
  double sum = 0;
  std::size_t points = 0;
  [[nodiscard]] double mean() const { return points == 0 ? 0 : sum / static_cast<double>(points); }
};

/// Device, quantity and model.
using Predictor = std::tuple<std::string, std::string, std::string>;

/// "232 of 232 judged points are within their tolerance, and 2 of 2 scores hold"
std::string what_held(const validate::Comparison& comparison) {
  if (comparison.rows.empty()) return "nothing was compared with a prediction";
  const auto scores = std::ranges::count_if(comparison.scores, &validate::ScoreResult::judged);
  const auto held = std::ranges::count_if(
      comparison.scores, [](const validate::ScoreResult& score) { return score.judged() && score.held(); });
  const std::string scores_text =
      fmt::format("{} of {} hold{}", held, counted(scores, "score"), scores == 1 ? "s" : "");
  const std::size_t judged = comparison.within + comparison.excused + comparison.outside;
  if (judged == 0 && scores > 0) return scores_text;
  const std::string points =
      fmt::format("{} of {} judged points are within their tolerance", comparison.within, judged);
  return scores > 0 ? points + ", and " + scores_text : points;
}

}  // namespace

Closing closing_of(const validate::Comparison& comparison) {
  Closing closing;
  std::map<Predictor, Deviations> predictors;
  Deviations all;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.fitted || validate::compares_by_difference(row.counter) || !std::isfinite(row.deviation))
      continue;
    for (Deviations* sum : {&all, &predictors[{row.device, row.counter, row.model}]}) {
      sum->sum += std::abs(row.deviation);
      ++sum->points;
    }
  }
  closing.limit = what_held(comparison);
  closing.certainty =
      (comparison.excused == 1 ? "1 point is a known miss"
                               : fmt::format("{} points are known misses", comparison.excused)) +
      (comparison.outside == 1 ? " and 1 is a new one"
                               : fmt::format(" and {} are new ones", comparison.outside));
  // The one whose points weigh most on the mean.
  auto worst = predictors.end();
  for (auto it = predictors.begin(); it != predictors.end(); ++it) {
    if (worst == predictors.end() || it->second.sum > worst->second.sum) worst = it;
  }
  if (worst == predictors.end() || predictors.size() < 2) return closing;
  const auto& [device, counter, model] = worst->first;
  const Deviations others{all.sum - worst->second.sum, all.points - worst->second.points};
  closing.change =
      fmt::format("first doubt {} by the model {} on {} ({}, {:.1f}% off on average)", counter, model, device,
                  counted(worst->second.points, "point"), 100 * worst->second.mean());
  closing.options = {{"device", device}, {"counter", counter}, {"model", model}};
  closing.gain = others.mean() > 0 ? std::optional(all.mean() / others.mean()) : std::nullopt;
  closing.gain_text =
      fmt::format("without it points that were not fitted are off by {:.1f}% instead of {:.1f}%",
                  100 * others.mean(), 100 * all.mean());
  return closing;
}

}  // namespace natten_sim::report

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/search_picture.hpp>
#include <natten_sim/report/time_report.hpp>
#include <natten_sim/report/vega_chart.hpp>

namespace natten_sim::report {
namespace {

using study::SearchAnswer;
using study::SearchCandidate;

double context_of(const SearchCandidate& candidate) { return 1 - candidate.counted.count.sparsity(); }

std::string subject_of(const SearchAnswer& answer) {
  const study::Setting& setting = answer.question.setting;
  std::string text = setting.preset ? *setting.preset + ", " : "";
  text += to_string(setting.input);
  if (setting.heads) text += ", " + std::to_string(*setting.heads) + " heads";
  if (setting.head_dim) text += ", head dim " + std::to_string(*setting.head_dim);
  if (answer.question.phase == SearchPhase::kBackward) text += ", backward pass";
  if (answer.question.phase == SearchPhase::kBoth) text += ", forward and backward pass";
  return text;
}

/// Dense attention keeps all.
draw::Series dense_point(double ms, const std::string& label) {
  return {.label = label, .points = {{ms, 1}}, .style = draw::SeriesStyle::kPoints};
}

draw::Series context_series(const SearchAnswer& answer, const std::string& label) {
  draw::Series series{.label = label, .style = draw::SeriesStyle::kPoints};
  if (answer.question.kind == study::SearchKind::kPareto) series.style = draw::SeriesStyle::kLineAndPoints;
  for (const SearchCandidate& each : answer.candidates)
    series.points.push_back({each.total_ms(), context_of(each)});
  return series;
}

/// What the launches keep and take, on the front of windows for each head.
draw::Picture recall_picture(const SearchAnswer& answer) {
  const study::RecallChoice& choice = *answer.choice;
  draw::CurvePlot plot{.heading = {"Attention kept over time", subject_of(answer)},
                       .x = {.label = "time of all layers (ms)", .scale = draw::Scale::kLog},
                       .y = {.label = "attention kept", .unit = draw::Unit::kPercent, .from_zero = true}};
  plot.series.push_back({.label = "best windows of the heads"});
  for (const TradePoint& point : choice.front)
    plot.series.back().points.push_back({point.cost, point.recall});
  plot.series.push_back(
      {.label = "chosen", .points = {{choice.ms, choice.recall}}, .style = draw::SeriesStyle::kPoints});
  if (choice.dense_ms) plot.series.push_back(dense_point(*choice.dense_ms, "dense"));
  return picture_of(plot);
}

}  // namespace

draw::Picture search_picture(std::span<const SearchAnswer> answers) {
  const SearchAnswer& first = answers.front();
  if (first.choice) return recall_picture(first);
  if (*first.question.objective != Objective::kTime)
    throw InvalidParameter("svg", to_string(*first.question.objective), "an answer by time, on a device");
  draw::CurvePlot plot{.heading = {"Context kept over time", subject_of(first)},
                       .x = {.label = "time (ms)", .scale = draw::Scale::kLog},
                       .y = {.label = "pairs that attend", .unit = draw::Unit::kPercent, .from_zero = true}};
  for (const SearchAnswer& answer : answers) {
    if (answer.candidates.empty()) continue;
    const std::string& device = *answer.question.setting.device;
    plot.series.push_back(context_series(answer, device));
    const SearchCandidate& any = answer.candidates.front();
    plot.series.push_back(dense_point(any.speedup * any.total_ms(), "dense, " + device));
  }
  if (const auto& recalls = first.recalls; recalls && !plot.series.empty()) {
    plot.heading.title = "Context and attention kept over time";
    plot.y.label = "kept";
    plot.series.front().label = "pairs that attend";
    draw::Series kept{
        .label = "attention, mean of " + std::to_string(recalls->layers * recalls->heads) + " heads",
        .style = plot.series.front().style};
    for (std::size_t i = 0; i < first.candidates.size(); ++i)
      kept.points.push_back({first.candidates[i].total_ms(), recalls->mean(i)});
    plot.series.push_back(std::move(kept));
  }
  if (plot.series.empty())
    throw InvalidParameter("svg", "no candidate", "constraints that a configuration meets");
  return picture_of(plot);
}

}  // namespace natten_sim::report

#include "search_picture.hpp"

#include <algorithm>

#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/draw/chart.hpp>

namespace natten_sim::report {
namespace {

using study::SearchAnswer;
using study::SearchCandidate;

double context_of(const SearchCandidate& candidate) { return 1 - candidate.counted.count.sparsity(); }

std::string subject_of(const SearchAnswer& answer) {
  std::string text = setting_subject(answer.question.setting);
  if (answer.question.phase == SearchPhase::kBackward) text += ", backward pass";
  if (answer.question.phase == SearchPhase::kBoth) text += ", forward and backward pass";
  return text;
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
                       .y = {.label = "attention kept (%)", .unit = draw::Unit::kPercent, .from_zero = true}};
  plot.series.push_back({.label = "best windows of the heads"});
  for (const TradePoint& point : choice.front)
    plot.series.back().points.push_back({point.cost, point.recall});
  plot.series.push_back(
      {.label = "chosen", .points = {{choice.ms, choice.recall}}, .style = draw::SeriesStyle::kPoints});
  if (choice.dense_ms) plot.series.push_back(dense_point(*choice.dense_ms, "dense"));
  return picture_of(plot);
}

bool has_candidates(const std::vector<SearchAnswer>& answers) {
  return std::any_of(answers.begin(), answers.end(),
                     [](const SearchAnswer& answer) { return !answer.candidates.empty(); });
}

bool is_timed(const std::vector<SearchAnswer>& answers) {
  return answers.front().choice.has_value() ||
         (*answers.front().question.objective == Objective::kTime && has_candidates(answers));
}

draw::Picture draw_candidates(const std::vector<SearchAnswer>& answers, const study::Context&) {
  const bool timed = is_timed(answers);
  draw::BarChart chart{.heading = {"Candidates", subject_of(answers.front())},
                       .value = {.label = timed ? "predicted time, copies included (ms)"
                                                : "speedup over dense attention by multiplied pairs (times)"}};
  for (const SearchAnswer& answer : answers) {
    for (const SearchCandidate& each : answer.candidates)
      chart.bars.push_back(bar_of(each.counted.problem, timed ? each.total_ms() : each.counted.count.speedup_work(),
                                  chart.categories.size()));
    chart.categories.push_back(answer.question.setting.device.value_or(""));
  }
  return bars_picture(std::move(chart));
}

}  // namespace

std::string setting_subject(const study::Setting& setting) {
  std::string text = setting.preset ? *setting.preset + ", " : "";
  text += to_string(setting.input);
  if (setting.heads) text += ", " + counted(*setting.heads, "head");
  if (setting.head_dim) text += ", head dim " + std::to_string(*setting.head_dim);
  return text;
}

draw::CurvePlot context_plot(const std::string& subject) {
  return {.heading = {"Context kept over time", subject},
          .x = {.label = "time (ms)", .scale = draw::Scale::kLog},
          .y = {.label = "pairs that attend (%)", .unit = draw::Unit::kPercent, .from_zero = true}};
}

draw::Series dense_point(double ms, const std::string& label) {
  return {.label = label, .points = {{ms, 1}}, .style = draw::SeriesStyle::kPoints};
}

draw::Bar bar_of(const TilingProblem& problem, double value, std::size_t category) {
  return {to_string(window_of(problem.mask)) + " stride " + to_string(stride_of(problem.mask)), value,
          draw::number_text(value) + ", tiles " + to_string(problem.tiles.q_tile) + " " +
              to_string(problem.tiles.kv_tile),
          category};
}

draw::Picture bars_picture(draw::BarChart chart) {
  if (chart.categories.size() < 2) chart.categories.clear();
  return picture_of(chart);
}

draw::Picture front_picture(std::span<const SearchAnswer> answers) {
  const SearchAnswer& first = answers.front();
  if (first.choice) return recall_picture(first);
  draw::CurvePlot plot = context_plot(subject_of(first));
  for (const SearchAnswer& answer : answers) {
    if (answer.candidates.empty()) continue;
    const std::string& device = *answer.question.setting.device;
    plot.series.push_back(context_series(answer, device));
    const SearchCandidate& any = answer.candidates.front();
    plot.series.push_back(dense_point(any.speedup * any.total_ms(), "dense, " + device));
  }
  if (const auto& recalls = first.recalls; recalls && !plot.series.empty()) {
    plot.heading.title = "Context and attention kept over time";
    plot.y.label = "kept (%)";
    plot.series.front().label = "pairs that attend";
    draw::Series kept{
        .label = "attention, mean of " + std::to_string(recalls->layers * recalls->heads) + " heads",
        .style = plot.series.front().style};
    for (std::size_t i = 0; i < first.candidates.size(); ++i)
      kept.points.push_back({first.candidates[i].total_ms(), recalls->mean(i)});
    plot.series.push_back(std::move(kept));
  }
  return picture_of(plot);
}

const PictureKinds<std::vector<SearchAnswer>>& search_pictures() {
  static const PictureKinds<std::vector<SearchAnswer>> kinds = {
      {.name = "front",
       .what = "the context that is kept over time, for the candidates or a --pareto front",
       .draw = [](const std::vector<SearchAnswer>& answers, const study::Context&) { return front_picture(answers); },
       .fits = is_timed,
       .needs = "an answer by time, on a device"},
      {.name = "candidates",
       .what = "a bar for each candidate",
       .draw = draw_candidates,
       .fits = has_candidates,
       .needs = "constraints that a configuration meets"}};
  return kinds;
}

}  // namespace natten_sim::report

#include <algorithm>

#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/draw/chart.hpp>

#include "search_picture.hpp"

namespace natten_sim::report {
namespace {

using study::AdviceChoice;
using study::AdviseAnswer;
using study::Context;
using study::DeviceAdvice;

double context_of(const AdviceChoice& choice) { return 1 - choice.count.forward.count.sparsity(); }

std::string subject_of(const AdviseAnswer& answer) {
  return setting_subject(answer.question.setting) + ", " + to_string(answer.question.use);
}

bool has_choices(const AdviseAnswer& answer) {
  return std::any_of(answer.devices.begin(), answer.devices.end(),
                     [](const DeviceAdvice& advice) { return !advice.choices.empty(); });
}

bool has_heads(const AdviseAnswer& answer) { return answer.devices.front().heads.has_value(); }
bool has_front(const AdviseAnswer& answer) { return has_heads(answer) || has_choices(answer); }

/// On one device each choice says which it is, on several a line says which device.
void add_choices(const DeviceAdvice& advice, bool alone, draw::CurvePlot& plot) {
  if (!alone) plot.series.push_back({.label = advice.device, .style = draw::SeriesStyle::kLineAndPoints});
  for (const AdviceChoice& choice : advice.choices) {
    const NeighborhoodMask& mask = choice.count.forward.problem.mask;
    if (alone)
      plot.series.push_back({.label = std::string(to_string(choice.role)) + ": " + to_string(window_of(mask)) +
                                      " stride " + to_string(stride_of(mask)),
                             .style = draw::SeriesStyle::kPoints});
    plot.series.back().points.push_back({choice.total_ms, context_of(choice)});
  }
  const AdviceChoice& any = advice.choices.front();
  if (any.speedup) plot.series.push_back(dense_point(*any.speedup * any.total_ms, "dense, " + advice.device));
}

draw::Picture draw_front(const AdviseAnswer& answer, const Context&) {
  if (const auto& heads = answer.devices.front().heads) return front_picture({&*heads, 1});
  draw::CurvePlot plot = context_plot(subject_of(answer));
  for (const DeviceAdvice& advice : answer.devices) {
    if (!advice.choices.empty()) add_choices(advice, answer.devices.size() == 1, plot);
  }
  return picture_of(plot);
}

draw::Picture draw_choices(const AdviseAnswer& answer, const Context&) {
  draw::BarChart chart{.heading = {"Advice", subject_of(answer)},
                       .value = {.label = "predicted time, copies included (ms)"}};
  for (const DeviceAdvice& advice : answer.devices) {
    for (const AdviceChoice& choice : advice.choices) {
      chart.bars.push_back(bar_of(choice.count.forward.problem, choice.total_ms, chart.categories.size()));
      chart.bars.back().note += std::string(", ") + to_string(choice.role);
    }
    chart.categories.push_back(advice.device);
  }
  return bars_picture(std::move(chart));
}

}  // namespace

const PictureKinds<AdviseAnswer>& advise_pictures() {
  static const PictureKinds<AdviseAnswer> kinds = {
      {.name = "front",
       .what = "the context that is kept over time",
       .draw = draw_front,
       .fits = has_front,
       .needs = "an answer with a choice"},
      {.name = "choices",
       .what = "a bar for each choice",
       .draw = draw_choices,
       .fits = has_choices,
       .needs = "an answer with choices"}};
  return kinds;
}

}  // namespace natten_sim::report

#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/report/draw/chart.hpp>

#include "search_picture.hpp"

namespace natten_sim::report {
namespace {

draw::Picture draw_step(const study::PlanAnswer& answer, const study::Context&) {
  const study::PlanQuestion& asked = answer.question;
  const auto layers = static_cast<double>(asked.layers.value_or(1)), passes = static_cast<double>(asked.passes.value_or(1));
  draw::BarChart chart{.heading = {"Time of a step", setting_subject(asked.setting) + ", " +
                                                         std::to_string(asked.gpus) + " x " + *asked.setting.device},
                       .value = {.label = "predicted time (ms)"},
                       .stacked = true,
                       .categories = {"attention", "communication", "all else"}};
  for (const auto& [name, plan] : {std::pair{"dense", &answer.dense}, {"sparse", &answer.sparse}}) {
    chart.bars.push_back({name, plan->attention_ms.value * layers * passes, {}, 0});
    chart.bars.push_back({name, plan->communication_ms.value * layers * passes, {}, 1});
    chart.bars.push_back({name, plan->rest_ms ? plan->rest_ms->value * passes : 0, short_text(plan->step_ms.value) + " ms", 2});
  }
  return picture_of(chart);
}

}  // namespace

const PictureKinds<study::PlanAnswer>& plan_pictures() {
  static const PictureKinds<study::PlanAnswer> kinds = {
      {.name = "step", .what = "what takes the time of a step, dense and sparse", .draw = draw_step}};
  return kinds;
}

}  // namespace natten_sim::report

#include <natten_sim/report/plan_report.hpp>
#include <natten_sim/study/plan.hpp>

#include "setting_keywords.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {
namespace {

using study::PlanAnswer;
using study::PlanQuestion;

Keywords<PlanQuestion> plan_keywords() {
  using Q = PlanQuestion;
  const Accepts counts{.hi = study::kMostOfPlan};
  Keywords<Q> rows;
  rows.include(layout_keywords(), &Q::setting);
  rows.add("window", &Q::window, "Window of the sparse plan [the fastest that advise() finds]");
  rows.add("stride", &Q::stride, "Stride, with a window [the fastest]");
  rows.add("layers", &Q::layers, "Layers that run this attention [the preset's, or 1]", Echo::kAlways, counts);
  rows.add("passes", &Q::passes,
           "Passes of the model in a step, 2 with guidance [the preset's, or 1; one in training]", Echo::kAlways,
           counts);
  rows.add("rest_flops", &Q::rest_flops,
           "FLOPs of a pass outside attention, all layers [by the attention share, or the preset's]", Echo::kWhenSet,
           {.least = 1, .most = 1e24});
  rows.add("for_", &Q::use, "inference: videos; training: an epoch [default]");
  rows.add("samples", &Q::samples, "Videos to make, or samples of an epoch [default]", Echo::kAlways, counts);
  rows.add("gpus", &Q::gpus, "GPUs that share one model [default]", Echo::kAlways, counts);
  rows.add("parallel", &Q::split,
           "heads: over all tokens; sequence: parts of the tokens, with the keys that windows reach; ring: the same, "
           "whole parts going round while GPUs compute [default]");
  rows.add("dollars_per_hour", &Q::dollars_per_hour, "Price of one GPU [none]", Echo::kWhenSet,
           {.least = 0, .most = 1e6});
  return rows.include(workload_keywords(), &Q::setting);
}

void bind_plan(nb::module_& module) {
  bind(module,
       Study<PlanQuestion, PlanAnswer>{
           .function = "plan",
           .type = "Plan",
           .schema = "plan",
           .doc = "Time, money, memory and communication of a whole model on one or more GPUs, dense beside sparse.\n\n"
                  "Attention is predicted as by time(); everything else by its share of the time, or by its FLOPs at "
                  "what they cost in models whose share is known.",
           .returns = "`dense` and `sparse`, each with milliseconds of a layer and a step, seconds and dollars of all "
                      "samples,\n    bytes, and bounds of each; `speedup`; how tokens are `split`.",
           .source = "docs/plan.md; models are those of data/model-shapes.json, links of data/links.json.",
           .duration = Duration::kLong,
           .keywords = plan_keywords(),
           .answer = study::plan,
           .input = [](const Keywords<PlanQuestion>& rows,
                       const PlanAnswer& answer) { return rows.echo(answer.question); },
           .result = [](const PlanAnswer& answer, const study::Context&) { return report::plan_result(answer); },
           .text = [](const PlanAnswer& answer, const study::Context&) { return report::plan_text(answer); },
           .csv = [](const PlanAnswer& answer, const study::Context&, const Json&) { return report::plan_csv(answer); },
           .pictures = [](const PlanAnswer&) { return std::vector<Picture<PlanAnswer>>{}; }});
}

}  // namespace

StudyBinder plan_study();
StudyBinder plan_study() { return bind_plan; }

}  // namespace natten_sim::python

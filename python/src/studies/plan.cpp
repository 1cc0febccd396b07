#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/plan_report.hpp>
#include <natten_sim/study/plan.hpp>

#include "described.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {
namespace {

using study::PlanAnswer;
using study::PlanQuestion;

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
           .keywords = keywords_of<PlanQuestion>(),
           .answer = study::plan,
           .input = [](const Keywords<PlanQuestion>& rows,
                       const PlanAnswer& answer) { return rows.echo(answer.question); },
           .result = [](const PlanAnswer& answer, const study::Context&) { return report::plan_result(answer); },
           .result_schema = report::plan_schema,
           .text = [](const PlanAnswer& answer, const study::Context&) { return report::plan_text(answer); },
           .csv = [](const PlanAnswer& answer, const study::Context&, const Json&) { return report::csv_text(report::plan_rows(answer)); },
           .pictures = [](const PlanAnswer& answer) { return pictures_of(report::plan_pictures(), answer); },
           .closing = [](const PlanAnswer& answer, const study::Context&) -> std::optional<report::Closing> {
             return report::closing_of(answer);
           }});
}

}  // namespace

StudyBinder plan_study();
StudyBinder plan_study() { return bind_plan; }

}  // namespace natten_sim::python

#include <natten_sim/report/advise_report.hpp>
#include <natten_sim/report/default_text.hpp>
#include <natten_sim/study/advise.hpp>

#include "answer_pictures.hpp"
#include "setting_keywords.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {
namespace {

using study::AdviseAnswer;
using study::AdviseQuestion;

Keywords<AdviseQuestion> advise_keywords() {
  using Q = AdviseQuestion;
  Keywords<Q> rows;
  rows.include(preset_keywords(), &Q::setting);
  rows.include(input_keywords(), &Q::setting);
  rows.add("device", &Q::devices, "GPUs, side by side, see kernels() [all that are calibrated]");
  rows.add("for_", &Q::use, "inference: the forward pass; training: both passes, optimised together [default]");
  rows.add(
      "sparsity", &Q::sparsity,
      "Most of the token pairs that may be left out, 0..1, or (lo, hi) " + report::default_text(study::kUsualSparsity),
      Echo::kWhenSet);
  rows.add("speedup", &Q::speedup,
           "Instead: the most context with which attention is this many times faster than dense, copies "
           "included [none]",
           Echo::kWhenSet, {.least = 1, .most = 1000});
  rows.add("max_imbalance", &Q::max_imbalance,
           "Largest over smallest share of the axes that windows leave out [default]", Echo::kAlways,
           {.least = 1, .most = 1e9});
  return rows.include(workload_keywords(), &Q::setting);
}

AdviseAnswer answer_advise(const AdviseQuestion& question, const study::Context& context) {
  if (question.sparsity && question.speedup)
    throw InvalidParameter("speedup", "given together with sparsity", "one of the two");
  return study::advise(question, context);
}

void bind_advise(nb::module_& module) {
  bind(
      module,
      Study<AdviseQuestion, AdviseAnswer>{
          .function = "advise",
          .type = "Advice",
          .schema = "advise",
          .doc = "Three configurations for a model on a GPU, in milliseconds, with the call to paste.\n\n"
                 "They are points of the front of time against context (attended pairs). Milliseconds carry the error that the calibrated costs had on runs they were not "
                 "fitted to.",
          .returns = "`devices`, each with up to three `choices`: configuration, milliseconds (`time_ms`, "
                     "forward and backward),\n    speedups over dense attention, bytes, and the call.",
          .source = "docs/time.md; costs are measured, data/kernel-times.json.",
          .duration = Duration::kLong,
          .keywords = advise_keywords(),
          .answer = answer_advise,
          .input = [](const Keywords<AdviseQuestion>& rows,
                      const AdviseAnswer& answer) { return rows.echo(answer.question); },
          .result = report::advise_result,
          .text = report::advise_text,
          .csv = [](const AdviseAnswer& answer, const study::Context& context,
                    const Json&) { return report::advise_csv(answer, context); },
          .pictures =
              [](const AdviseAnswer&) {
                return std::vector<Picture<AdviseAnswer>>{
                    {"choices", [](const AdviseAnswer& answer, const study::Context& context) {
                       return choices_svg(report::advise_result(answer, context));
                     }}};
              },
          .closing = [](const AdviseAnswer& answer, const study::Context&) -> std::optional<report::Closing> {
            return report::closing_of(answer);
          }});
}

}  // namespace

StudyBinder advise_study();
StudyBinder advise_study() { return bind_advise; }

}  // namespace natten_sim::python

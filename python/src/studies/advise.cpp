#include <natten_sim/report/advise_report.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/study/advise.hpp>

#include "described.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {
namespace {

using study::AdviseAnswer;
using study::AdviseQuestion;

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
          .keywords = keywords_of<AdviseQuestion>(),
          .answer = study::advise,
          .input = [](const Keywords<AdviseQuestion>& rows,
                      const AdviseAnswer& answer) { return rows.echo(answer.question); },
          .result = report::advise_result,
          .result_schema = report::advise_schema,
          .text = report::advise_text,
          .csv = [](const AdviseAnswer& answer, const study::Context& context,
                    const Json&) { return report::csv_text(report::advise_rows(answer, context)); },
          .pictures = [](const AdviseAnswer& answer) { return pictures_of(report::advise_pictures(), answer); },
          .closing = [](const AdviseAnswer& answer, const study::Context&) -> std::optional<report::Closing> {
            return report::closing_of(answer);
          }});
}

}  // namespace

StudyBinder advise_study();
StudyBinder advise_study() { return bind_advise; }

}  // namespace natten_sim::python

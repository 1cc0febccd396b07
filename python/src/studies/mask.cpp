#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/mask_report.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/study/mask.hpp>

#include "described.hpp"
#include "schedule_values.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {
namespace {

using study::MaskAnswer;
using study::MaskQuestion;

void bind_mask(nb::module_& module) {
  bind(
      module,
      Study<MaskQuestion, MaskAnswer>{
          .function = "mask",
          .type = "Mask",
          .schema = "mask",
          .doc = "Blocks and time of attention under a mask that is no neighborhood.\n\n"
                 "`mask` is a rule as text, a file, or an array of blocks: [Q blocks, KV blocks], or one of "
                 "those for "
                 "each head,\nof booleans, or of 0 (skipped), 1 (partial) and 2 (full).",
          .returns = "Visited, full and partial blocks, the lengths of their rows, attending pairs of tokens "
                     "and times;\n    "
                     "`others` has the same for other sizes of blocks.",
          .source = "docs/masks.md; times are those of time().",
          .duration = Duration::kLong,
          .keywords = keywords_of<MaskQuestion>(),
          .answer = study::count_mask,
          .input = [](const Keywords<MaskQuestion>& rows,
                      const MaskAnswer& answer) { return rows.echo(answer.question); },
          .result = [](const MaskAnswer& answer,
                       const study::Context&) { return report::mask_result(answer); },
          .text = [](const MaskAnswer& answer, const study::Context&) { return report::mask_report(answer); },
          .csv = [](const MaskAnswer& answer, const study::Context&,
                    const Json&) { return report::csv_text(report::mask_rows(answer)); },
          .pictures = [](const MaskAnswer& answer) { return pictures_of(report::mask_pictures(), answer); },
          .closing = [](const MaskAnswer& answer, const study::Context&) -> std::optional<report::Closing> {
            return report::closing_of(answer);
          }});
}

}  // namespace

StudyBinder mask_study();
StudyBinder mask_study() { return bind_mask; }

}  // namespace natten_sim::python

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/mask_report.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/mask.hpp>

#include "described.hpp"
#include "schedule_values.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {
namespace {

using study::MaskAnswer;
using study::MaskQuestion;

/// What count() asks of a mask in place of its window.
struct CountOfMask {
  study::CountQuestion count;
  MaskQuestion mask;  ///< the mask alone
};

Keywords<CountOfMask> count_keywords() {
  Keywords<CountOfMask> rows;
  rows.include(keywords_of<MaskQuestion>().only({"mask"}), &CountOfMask::mask);
  return rows.include(keywords_of<study::CountQuestion>(), &CountOfMask::count);
}

/// `count(mask=...)`, which answers as mask() does. Apart from count(), whose calls have one type of answer for checkers.
void bind_count_of(nb::module_& module, const Study<MaskQuestion, MaskAnswer>* masks) {
  const auto* counts = new Study<CountOfMask, MaskAnswer>{
      .function = "count",
      .type = "Mask",
      .doc = "Count the blocks that attention visits under a mask in place of a window, as mask() does.",
      .returns = masks->returns,
      .source = masks->source,
      .duration = masks->duration,
      .keywords = count_keywords()};  // as long as the interpreter
  const char* name = "_count_of_mask";
  const std::string declared = signature_of(*counts), doc = doc_of(*counts),
                    signature = std::string("def ") + name + declared.substr(declared.find('('));
  module.def(
      name,
      [masks, counts, name](const nb::kwargs& keywords) {
        const Asked<CountOfMask> given = read_call(*counts, keywords);
        const Asked<MaskQuestion> asked{
            study::mask_question_of(given.question.count, given.question.mask.mask, given.context->catalog), given.context,
            given.progress, std::nullopt};
        auto* answer = new AnswerOf<MaskQuestion, MaskAnswer>(
            masks, [&] { return answer_of(*masks, asked); }, asked.context);
        answer->keep_keywords(keywords);
        answer->keep_function(name);
        return answer;
      },
      nb::rv_policy::take_ownership, nb::sig(signature.c_str()), doc.c_str());
}

void bind_mask(nb::module_& module) {
  const auto* study = new Study<MaskQuestion, MaskAnswer>{
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
          .result_schema = report::mask_schema,
          .text = [](const MaskAnswer& answer, const study::Context&) { return report::mask_report(answer); },
          .csv = [](const MaskAnswer& answer, const study::Context&,
                    const Json&) { return report::csv_text(report::mask_rows(answer)); },
          .pictures = [](const MaskAnswer& answer) { return pictures_of(report::mask_pictures(), answer); },
          .closing = [](const MaskAnswer& answer, const study::Context&) -> std::optional<report::Closing> {
            return report::closing_of(answer);
          }};
  bind(module, *study);
  bind_count_of(module, study);
}

}  // namespace

StudyBinder mask_study();
StudyBinder mask_study() { return bind_mask; }

}  // namespace natten_sim::python

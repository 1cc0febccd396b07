#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/emit.hpp>
#include <natten_sim/report/tile_picture.hpp>
#include <natten_sim/study/count.hpp>

#include "count_keywords.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {

using study::CountAnswer;
using study::CountQuestion;

namespace {

std::string emitted(const AnswerOf<CountQuestion, CountAnswer>& self, const std::string& kind) {
  const CountAnswer& answer = self.answer();
  study::Setting setting = answer.question.setting;
  setting.backend = answer.chosen_backend;  // whether or not it has these tiles: NATTEN's rules say so
  return report::emitted(parse_name<report::EmitKind>(kind, "kind"), setting, answer.forward.problem,
                         answer.backward ? &answer.backward->problem : nullptr, self.context());
}

/// Tuners ask about many problems that share axes.
CountAnswer answer_count(const CountQuestion& question, const study::Context& context) {
  thread_local AxisCountMemo memo;
  return study::count_with_memo(question, context, memo);
}

void bind_count(nb::module_& module) {
  auto type = bind(
      module,
      Study<CountQuestion, CountAnswer>{
          .function = "count",
          .type = "Count",
          .schema = "count",
          .doc = "Count exactly which pairs of Q and KV tiles an attention problem visits.\n\n"
                 "Counts are of one head and one batch element; FLOPs are of all of them. Only `input` "
                 "(or a `preset`)\nhas no default.",
          .keywords = count_keywords(),
          .answer = answer_count,
          .input = [](const Keywords<CountQuestion>& rows,
                      const CountAnswer& answer) { return rows.echo(answer.question); },
          .result = [](const CountAnswer& answer,
                       const study::Context&) { return report::count_result(answer); },
          .text = [](const CountAnswer& answer, const study::Context&) { return report::count_text(answer); },
          .csv = [](const CountAnswer& answer, const study::Context&,
                    const Json& input) { return report::count_csv(input, answer); },
          .svg = [](const CountAnswer& answer,
                    const study::Context&) { return report::tile_svg(answer.forward.problem, {}); }});
  const std::string signature =
      "def emit(self, kind: " + PythonValue<report::EmitKind>::hint() + " = 'natten') -> str";
  type.def(
      "emit", emitted, nb::arg("kind") = "natten", nb::sig(signature.c_str()),
      "What runs the problem: NATTEN's Python call, its profiler's command, a FlexAttention script, or the "
      "call\nas JSON. Raises Error naming the rule when NATTEN refuses the call.");
}

}  // namespace

StudyBinder count_study();
StudyBinder count_study() { return bind_count; }

}  // namespace natten_sim::python

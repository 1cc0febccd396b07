#include <algorithm>

#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/emit.hpp>
#include <natten_sim/report/tile_picture.hpp>
#include <natten_sim/study/count.hpp>

#include "described.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {

using study::CountAnswer;
using study::CountQuestion;

namespace {

std::string emitted(const AnswerOf<CountQuestion, CountAnswer>& self, const std::string& kind) {
  return report::emitted(parse_name<report::EmitKind>(kind, "kind"), self.answer(), self.context());
}

/// Counts of boxes are closed forms of O(longest axis); a preset may bring anything.
bool is_brief(const CountQuestion& question) {
  constexpr std::int64_t kBriefAxis = 4096;
  const Extents& input = question.setting.input;
  return question.tiling == Tiling::kMultiDimensional && !input.empty() &&
         std::all_of(input.begin(), input.end(), [](std::int64_t size) { return size <= kBriefAxis; });
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
                 "(or a `preset`)\nhas no default. With `mask` in place of a window it answers as mask() does.",
          .returns =
              "tiles and token pairs of one head and batch element, FLOPs and milliseconds (`time_ms`) "
              "of all of them;\n    docs/cli-count.md lists the members.",
          .source = "Hassani, Neighborhood Attention: Fast and Flexible Sparse Attention, chapter 4; "
                    "docs/tile-counts.md, docs/time.md.",
          .is_brief = is_brief,
          .keywords = keywords_of<CountQuestion>(),
          .may_be_null = {"backend"},
          .answer = answer_count,
          .input = [](const Keywords<CountQuestion>& rows,
                      const CountAnswer& answer) { return rows.echo(answer.question); },
          .result = [](const CountAnswer& answer,
                       const study::Context&) { return report::count_result(answer); },
          .result_schema = report::count_schema,
          .text = [](const CountAnswer& answer, const study::Context&) { return report::count_text(answer); },
          .csv = [](const CountAnswer& answer, const study::Context&,
                    const Json& input) { return report::csv_text(report::count_rows(input, answer)); },
          .pictures =
              [](const CountAnswer&) {
                return std::vector<Picture<CountAnswer>>{
                    {"tiles", [](const CountAnswer& answer, const study::Context&) {
                       return report::tile_picture(answer.forward.problem, {}).svg;
                     }}};
              },
          .closing = [](const CountAnswer& answer,
                        const study::Context& context) -> std::optional<report::Closing> {
            return report::closing_of(answer, study::conclude(answer, context));
          }});
  type.def(
      "tile_map",
      [](const AnswerOf<CountQuestion, CountAnswer>& self, nb::object at_q_tile) {
        const Extents at =
            at_q_tile.is_none() ? Extents{} : PythonValue<Extents>::read("at_q_tile", at_q_tile, {.lo = 0});
        return report::tile_picture(self.answer().forward.problem, at).svg;
      },
      nb::arg("at_q_tile") = nb::none(),
      nb::sig("def tile_map(self, at_q_tile: typing.SupportsIndex | "
              "collections.abc.Iterable[typing.SupportsIndex] | None = None) -> str"),
      "Which KV tiles a Q tile visits, drawn on the layout: full, partial and skipped.\n\n"
      "Args:\n"
      "    at_q_tile: The Q tile, one number an axis from 0 [all Q tiles of an axis, or the one in the middle].\n\n"
      "Returns:\n"
      "    The text of an SVG document.\n\n"
      "Raises:\n"
      "    Error: There is no such Q tile, four axes, or an edge of more than 4096 tiles.");
  const std::string signature =
      "def emit(self, kind: " + PythonValue<report::EmitKind>::hint() + " = 'natten') -> str";
  type.def(
      "emit", emitted, nb::arg("kind") = "natten", nb::sig(signature.c_str()),
      "What runs the problem.\n\n"
      "Args:\n"
      "    kind: natten: NATTEN's Python call; profiler: its profiler's command; flex: a FlexAttention script; "
      "json: the call.\n\n"
      "Returns:\n"
      "    The text.\n\n"
      "Raises:\n"
      "    Error: NATTEN refuses the call; `parameter` and `accepted` are its rule's.");
}

}  // namespace

StudyBinder count_study();
StudyBinder count_study() { return bind_count; }

}  // namespace natten_sim::python

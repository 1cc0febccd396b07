#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/tile_picture.hpp>
#include <natten_sim/study/count.hpp>

#include "count_keywords.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {

using study::CountAnswer;
using study::CountQuestion;

namespace {

void bind_count(nb::module_& module) {
  bind(
      module,
      Study<CountQuestion, CountAnswer>{
          .function = "count",
          .type = "Count",
          .schema = "count",
          .doc = "Count exactly which pairs of Q and KV tiles an attention problem visits.\n\n"
                 "Counts are of one head and one batch element; FLOPs are of all of them. Only `input` "
                 "(or a `preset`)\nhas no default.",
          .keywords = count_keywords(),
          .answer = study::count,
          .input = [](const Keywords<CountQuestion>& rows,
                      const CountAnswer& answer) { return rows.echo(answer.question); },
          .result = [](const CountAnswer& answer,
                       const study::Context&) { return report::count_result(answer); },
          .text = [](const CountAnswer& answer, const study::Context&) { return report::count_text(answer); },
          .csv = [](const CountAnswer& answer, const study::Context&,
                    const Json& input) { return report::count_csv(input, answer); },
          .svg = [](const CountAnswer& answer,
                    const study::Context&) { return report::tile_svg(answer.forward.problem, {}); }});
}

}  // namespace

StudyBinder count_study();
StudyBinder count_study() { return bind_count; }

}  // namespace natten_sim::python

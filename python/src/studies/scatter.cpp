#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/study/scatter.hpp>

#include "described.hpp"
#include "row_source.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {

/// `auto` is the construct's own path.
template <>
struct PythonValue<std::optional<InstructionPath>> {
  using Echoed = std::string;
  static std::string hint() {
    return "typing.Literal['auto', '" + joined(names_of<InstructionPath>(), "', '") + "']";
  }
  static std::optional<InstructionPath> read(const std::string& name, nb::handle value, const Accepts&) {
    const std::string path = text_of(name, value, "auto, " + joined(names_of<InstructionPath>()));
    if (path == "auto") return std::nullopt;
    return parse_name<InstructionPath>(path, name);
  }
  static bool write(const std::optional<InstructionPath>& path, Json& out) {
    out = path ? to_string(*path) : "auto";
    return true;
  }
};

namespace {

using study::ScatterAnswer;
using study::ScatterQuestion;

ScatterAnswer answer_scatter(const ScatterQuestion& question, const study::Context& context) {
  if (question.dtype != Dtype::kFp32 && question.dtype != Dtype::kFp16 && question.dtype != Dtype::kBf16)
    throw UnknownName("dtype", to_string(question.dtype), "", "fp32, fp16, bf16");
  ScatterQuestion full = question;
  full.details = {.addresses = true, .remedies = true, .calibration = true};
  return study::scatter(full, context);
}

void bind_scatter(nb::module_& module) {
  bind(module,
       Study<ScatterQuestion, ScatterAnswer>{
           .function = "scatter",
           .type = "Scatter",
           .schema = "atomics",
           .doc = "Predict what scattered atomic additions of rows cost, and rank the remedies.\n\n"
                  "Times are nanoseconds of one run. The program calls it `natten-sim atomics`.",
           .returns = "collisions (rows and updates), sectors (of 32 bytes) and transactions, `time_ns` and "
                      "what bounds "
                      "it, and\n    `remedies`, each with its nanoseconds and bytes.",
           .source = "docs/atomics.md; rates are measured, data/contention.json and data/lowering.json.",
           .duration = Duration::kLong,
           .many = "scatter_many",
           .many_doc = "Predict what scattered additions cost for many problems at once.",
           .keywords = keywords_of<ScatterQuestion>(),
           .answer = answer_scatter,
           .input = [](const Keywords<ScatterQuestion>& rows,
                       const ScatterAnswer& answer) { return rows.echo(answer.question); },
           .result = [](const ScatterAnswer& answer,
                        const study::Context&) { return report::scatter_fields(answer); },
           .result_schema = report::scatter_schema,
           .text = [](const ScatterAnswer& answer,
                      const study::Context&) { return report::scatter_text(answer); },
           .csv =
               [](const ScatterAnswer& answer, const study::Context&, const Json&) {
                 return report::csv_text(report::scatter_rows(answer));
               },
           .pictures = [](const ScatterAnswer& answer) { return pictures_of(report::scatter_pictures(), answer); },
           .closing = [](const ScatterAnswer& answer, const study::Context&)
               -> std::optional<report::Closing> { return report::closing_of(answer); }});
}

}  // namespace

StudyBinder scatter_study();
StudyBinder scatter_study() { return bind_scatter; }

}  // namespace natten_sim::python

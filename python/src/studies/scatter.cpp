#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/scatter_picture.hpp>
#include <natten_sim/report/scatter_report.hpp>
#include <natten_sim/sim/scatter/index_stream.hpp>
#include <natten_sim/study/scatter.hpp>

#include "row_source.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {

/// `auto` is the construct's own path.
template <>
struct PythonValue<std::optional<InstructionPath>> {
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

Keywords<ScatterQuestion> scatter_keywords() {
  using Q = ScatterQuestion;
  Keywords<Q> rows;
  rows.add("updates", &Q::updates,
           "Rows that are added [" + std::to_string(study::kGeneratedUpdates) +
               "; of an array or file, all its rows]",
           Echo::kAlways, {.lo = 0, .hi = kMaxUpdates});
  rows.add("rows", &Q::rows, "Rows of the destination [default]", Echo::kAlways, {.hi = kMaxRows});
  rows.add("width", &Q::width, "Elements of a row [default]", Echo::kAlways, {.hi = 1 << 20});
  rows.add(
      "distribution", &Q::source,
      "uniform, zipf:S (row k with probability ~ 1/k^S), hot:K (evenly over K rows in distinct sectors), "
      "file:PATH, or the rows themselves: an array of integers, which is not copied [default]");
  rows.add("dtype", &Q::dtype, "Element type: fp32, fp16 or bf16 [default]");
  rows.add("path", &Q::path,
           "Instruction that the hardware executes; auto: the one that the construct becomes [default]");
  rows.add("construct", &Q::construct, "Source construct or operator of the lowering table [default]");
  rows.add("device", &Q::device, "Device with measured contention, see devices() [default]");
  rows.add("seed", &Q::seed, "Seed of the generated rows [default]", Echo::kAlways,
           {.lo = 0, .hi = std::int64_t{1} << 62});
  rows.add("prior_runs", &Q::prior_runs,
           "Equal runs that have added to the destination since it was zero [default]", Echo::kAlways,
           {.lo = 0, .hi = 1 << 20});
  rows.add("values", &Q::values,
           "Values that are added: normal, or constant (ones, which saturate half-precision sums) [default]");
  return rows;
}

ScatterAnswer answer_scatter(const ScatterQuestion& question, const study::Context& context) {
  if (question.dtype != Dtype::kFp32 && question.dtype != Dtype::kFp16 && question.dtype != Dtype::kBf16)
    throw UnknownName("dtype", to_string(question.dtype), "", "fp32, fp16, bf16");
  ScatterQuestion full = question;
  full.details = {.addresses = true, .remedies = true, .calibration = true};
  return study::scatter(full, context);
}

std::vector<Picture<ScatterAnswer>> scatter_pictures(const ScatterAnswer&) {
  return {{"histogram",
           [](const ScatterAnswer& answer, const study::Context&) {
             return report::collision_picture(answer.collisions, report::scatter_title(answer)).svg;
           }},
          {"remedies", [](const ScatterAnswer& answer, const study::Context&) {
             return report::remedies_picture(*answer.cost.remedies, report::scatter_title(answer)).svg;
           }}};
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
           .keywords = scatter_keywords(),
           .answer = answer_scatter,
           .input = [](const Keywords<ScatterQuestion>& rows,
                       const ScatterAnswer& answer) { return rows.echo(answer.question); },
           .result = [](const ScatterAnswer& answer,
                        const study::Context&) { return report::scatter_fields(answer); },
           .text = [](const ScatterAnswer& answer,
                      const study::Context&) { return report::scatter_text(answer); },
           .csv =
               [](const ScatterAnswer& answer, const study::Context&, const Json&) {
                 const std::vector<Json> remedies = report::remedy_rows(*answer.cost.remedies);
                 return report::csv_table(remedies.front(), remedies);
               },
           .pictures = scatter_pictures,
           .closing = [](const ScatterAnswer& answer, const study::Context&)
               -> std::optional<report::Closing> { return report::closing_of(answer); }});
}

}  // namespace

StudyBinder scatter_study();
StudyBinder scatter_study() { return bind_scatter; }

}  // namespace natten_sim::python

#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/calibrate_report.hpp>
#include <natten_sim/report/kernel_times_report.hpp>
#include <natten_sim/report/pictures.hpp>
#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/study/describe/default_text.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/validate/record/measured_runs.hpp>
#include <natten_sim/validate/record/ncu_csv.hpp>

#include "studies.hpp"
#include "study.hpp"
#include "text_file.hpp"

namespace natten_sim::python {

/// Measured runs: a file, or a dict a run.
struct MeasuredRuns {
  std::string file;
  Json rows;         ///< as given; null for a file
  std::string text;  ///< the same as a table
};

namespace {

/// A cell of the table: (30, 48, 80) is 30x48x80, True is 1.
std::string cell_of(const std::string& name, const Json& value) {
  if (value.is_null()) return "";
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (text.find_first_of(",\n\"") != std::string::npos)
      throw InvalidParameter(name, text, "names without commas");
    return text;
  }
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& element : value) text += (text.empty() ? "" : "x") + cell_of(name, element);
  return text;
}

std::string table_of(const std::string& name, const Json& rows) {
  constexpr const char* kAccepted = "a file of measured runs, or a dict a run";
  std::vector<std::string> columns;
  for (const Json& row : rows) {
    if (!row.is_object()) throw InvalidParameter(name, row.dump(), kAccepted);
    for (const auto& [column, cell] : row.items()) {
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
    }
  }
  if (columns.empty()) throw InvalidParameter(name, "none", kAccepted);
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ",") + column;
  for (const Json& row : rows) {
    text += '\n';
    for (const std::string& column : columns) {
      if (column != columns.front()) text += ',';
      if (row.contains(column)) text += cell_of(name, row[column]);
    }
  }
  return text + '\n';
}

}  // namespace

template <>
struct PythonValue<MeasuredRuns> {
  using Echoed = AnyOf<std::string, std::vector<report::OpenObject>>;
  static std::string hint() {
    return "str | os.PathLike[str] | "
           "collections.abc.Iterable[collections.abc.Mapping[str, typing.Any]]";
  }
  static MeasuredRuns read(const std::string& name, nb::handle value, const Accepts&) {
    if (PyUnicode_Check(value.ptr()) || nb::hasattr(value, "__fspath__")) {
      const std::string file = text_of(name, value, "a path");
      return {file, nullptr, read_text_file(name, file)};
    }
    Json rows = to_json_value(name, value);
    std::string text = table_of(name, rows);
    return {"runs", std::move(rows), std::move(text)};
  }
  static bool write(const MeasuredRuns& runs, Json& out) {
    out = runs.rows.is_null() ? Json(runs.file) : runs.rows;
    return !runs.file.empty();
  }
};

namespace {

struct AskedCalibration {
  MeasuredRuns runs;
  std::optional<KernelChoice> kernel;
  std::optional<std::string> device;
  std::int64_t head_dim = KernelRun{}.head_dim;
  Dtype dtype = KernelRun{}.dtype;
  std::optional<std::string> times;
  std::string ncu_kernel, source;
  std::optional<DecimalMark> decimal;
  std::size_t suggestions = study::CalibrateQuestion{}.suggestions;
  bool plan = false;  ///< that of the program, which plans before any run
};

struct CalibratedRuns {
  AskedCalibration asked;
  study::CalibrateAnswer answer;
};

Keywords<AskedCalibration> calibrate_keywords() {
  using F = AskedCalibration;
  Keywords<F> rows;
  rows.add(
      "runs", &F::runs,
      "Measured runs: a CSV file (data/kernel-runs has two), a recording of validate, or a dict a run with "
      "the columns as keys: input, window, q_tile, kv_tile, ms, ..");
  rows.echo_only("plan", &F::plan);
  rows.add("kernel", &F::kernel,
           "Kernel of runs that name none: hopper-fna, flexattention, fmha, .., or a kernel file [theirs]");
  rows.add("device", &F::device, "Device of runs that name none, see devices() [theirs]");
  rows.add("head_dim", &F::head_dim, "Head dim of runs that state none [default]", Echo::kAlways,
           {.hi = 4096});
  rows.add("dtype", &F::dtype, "Element type of runs that state none [default]");
  rows.add("times", &F::times,
           "File with times of the runs without one, in their order: what NATTEN's profiler printed, or a "
           "profile of Nsight Compute (.ncu-rep or CSV) [none]");
  rows.add("ncu_kernel", &F::ncu_kernel,
           "With times of Nsight Compute: only launches whose kernel name contains this text [any]");
  rows.add("decimal", &F::decimal, validate::kDecimalHelp);
  rows.add("source", &F::source,
           "Where the runs come from, stored with the costs; none: the name of the file");
  rows.add("suggestions", &F::suggestions, "Further runs to suggest for each pass [default]", Echo::kAlways,
           {.lo = 0, .hi = 20});
  return rows;
}

CalibratedRuns answer_calibration(const AskedCalibration& given, const study::Context& context) {
  AskedCalibration asked = given;
  if (asked.runs.file.empty())
    throw InvalidParameter("runs", "none", "measured runs: a file, or a dict a run");
  if (asked.source.empty()) asked.source = asked.runs.file;
  KernelRun defaults;
  if (asked.kernel) defaults.kernel = asked.kernel->name;
  defaults.device = asked.device.value_or("");
  defaults.head_dim = asked.head_dim;
  defaults.dtype = asked.dtype;
  study::CalibrateQuestion question;
  question.runs = validate::read_kernel_runs(asked.runs.text, asked.runs.file, defaults);
  if (asked.times)
    validate::add_measured_times(read_text_file("times", *asked.times), *asked.times, asked.ncu_kernel,
                                 question.runs, asked.decimal);
  question.source = asked.source;
  question.suggestions = asked.suggestions;
  const study::WithKernels kernels(context, asked.kernel);
  return {asked, study::calibrate(question, kernels.get())};
}

void bind_calibrate(nb::module_& module) {
  auto type = bind(
      module,
      Study<AskedCalibration, CalibratedRuns>{
          .function = "calibrate",
          .type = "Calibration",
          .schema = "calibrate",
          .doc = "Fit what the tiles of an attention kernel cost, from a few measured times.\n\n"
                 "`kernels` of the result are the costs; `runs` each run, measured, predicted, and predicted "
                 "without it; "
                 "`suggestions`\nthe runs that would tell most, to measure next.",
          .returns =
              "`kernels` (costs of a tile and of a launch, microseconds), `runs` (measured and predicted "
              "milliseconds, `deviation`\n    as a fraction), `suggestions`.",
          .source = "docs/time.md: a least-squares fit with priors.",
          .positional = "runs",
          .keywords = calibrate_keywords(),
          .may_be_null = {"kernel", "device", "times", "decimal"},
          .answer = answer_calibration,
          .input = [](const Keywords<AskedCalibration>& rows,
                      const CalibratedRuns& found) { return rows.echo(found.asked); },
          .result =
              [](const CalibratedRuns& found, const study::Context& context) {
                return report::calibrate_result(found.answer, context);
              },
          .result_schema = report::calibrate_schema,
          .text = [](const CalibratedRuns& found,
                     const study::Context& context) { return report::calibrate_text(found.answer, context); },
          .csv = [](const CalibratedRuns& found, const study::Context&,
                    const Json&) { return report::csv_text(report::calibrate_rows(found.answer)); },
          .pictures = [](const CalibratedRuns& found) {
            return pictures_of(report::calibrate_pictures(), found,
                               [](const CalibratedRuns& part) -> const auto& { return part.answer; });
          },
          .closing = [](const CalibratedRuns& found, const study::Context&)
              -> std::optional<report::Closing> { return report::closing_of(found.answer); }});
  using CalibrationObject = AnswerOf<AskedCalibration, CalibratedRuns>;
  type.def(
      "costs",
      [](const CalibrationObject& self) {
        return to_python(report::kernel_times_file(self.answer().answer.entries));
      },
      nb::sig("def costs(self) -> dict[str, typing.Any]"),
      "The costs for Catalog(costs=...).\n\n"
      "Returns:\n"
      "    What `natten-sim calibrate --save` writes, as a dict: costs are microseconds, with their source.");
}

}  // namespace

StudyBinder calibrate_study();
StudyBinder calibrate_study() { return bind_calibrate; }

}  // namespace natten_sim::python

#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/validation_page.hpp>
#include <natten_sim/report/validation_report.hpp>
#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/record/ncu_report.hpp>
#include <natten_sim/validate/record/sdpa_recording.hpp>

#include "answer_pictures.hpp"
#include "studies.hpp"
#include "study.hpp"
#include "text_file.hpp"

namespace natten_sim::python {

/// What a profiled kernel computed: a dict, or words `name=value`.
struct PointWords {
  std::vector<std::string> words;
};

template <>
struct PythonValue<PointWords> {
  using Echoed = std::vector<std::string>;
  static std::string hint() { return "collections.abc.Mapping[str, object] | collections.abc.Iterable[str]"; }
  static PointWords read(const std::string& name, nb::handle value, const Accepts& accepts) {
    if (!nb::isinstance<nb::dict>(value))
      return {PythonValue<std::vector<std::string>>::read(name, value, accepts)};
    PointWords point;
    for (const auto& [key, member] : nb::borrow<nb::dict>(value))
      point.words.push_back(text_of(name, key, "names as keys") + "=" + nb::str(member).c_str());
    return point;
  }
  static bool write(const PointWords& point, Json& out) {
    out = point.words;
    return true;
  }
};

namespace {

/// The keywords of compare() and compare_profile().
struct AskedComparison {
  std::vector<std::string> suites;
  std::optional<std::string> recorded, ncu_csv;
  std::string ncu_kernel;
  std::optional<DecimalMark> decimal;
  PointWords point;
  std::optional<std::string> kernel, profile;
  bool rows = false;
  Fidelity fidelity = Fidelity::kClosedForm;
};

struct ComparedRecordings {
  AskedComparison asked;
  std::vector<validate::Recording> recordings;
  validate::Comparison comparison;
};

/// Keywords of compare(), or of compare_profile().
Keywords<AskedComparison> comparison_keywords(bool profile) {
  using F = AskedComparison;
  Keywords<F> rows;
  if (!profile) {
    rows.add("suites", &F::suites, "Suites to compare, by name [all]");
    rows.add("recorded", &F::recorded, "Folder with recordings, as `natten-sim validate --out` writes them");
  } else {
    rows.add("ncu_csv", &F::ncu_csv, "A profile of Nsight Compute (.ncu-rep, or what ncu --csv printed), of any kernel");
    rows.add("ncu_kernel", &F::ncu_kernel, "Only launches whose kernel name contains this text [any]");
    rows.add("decimal", &F::decimal, validate::kDecimalHelp);
    rows.add("point", &F::point,
             "What the kernel computed: a dict as {'tokens': 65536, 'head_dim': 128}, with 'kernel' for another "
             "than attention");
    rows.echo_only("kernel", &F::kernel);
    rows.add("profile", &F::profile,
             std::string("Device profile of the GPU that was profiled [") + validate::kProfiledDevice + "]");
  }
  rows.add("fidelity", &F::fidelity, "closed-form, or timed: also simulate in time (a minute) [default]");
  rows.add("rows", &F::rows, "Whether the text shows every comparison, not only groups and misses [default]");
  return rows;
}

ComparedRecordings compared(const AskedComparison& asked, const std::vector<validate::Suite>& suites,
                            std::vector<validate::Recording> recordings, const study::Context& context) {
  if (asked.fidelity == Fidelity::kLru)
    throw InvalidParameter("fidelity", "lru", "closed-form or timed", "closed-form");
  validate::Comparison comparison =
      validate::compare(recordings, suites, context.catalog.devices, asked.fidelity, context.progress);
  return {asked, std::move(recordings), std::move(comparison)};
}

/// Recordings of other suites are left out, as the program does.
ComparedRecordings compare_recordings(const AskedComparison& asked, const study::Context& context) {
  if (!asked.recorded) throw InvalidParameter("recorded", "none", "a folder with recordings");
  const std::vector<std::string> known = validate::builtin_suite_names();
  for (const std::string& name : asked.suites) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UnknownName("suites", name, closest_name(name, known), joined(known));
  }
  std::vector<validate::Suite> suites;
  for (const validate::Suite& suite : validate::builtin_suites()) {
    const auto& wanted = asked.suites;
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), suite.name) != wanted.end())
      suites.push_back(suite);
  }
  std::vector<validate::Recording> recordings;
  for (validate::Recording& recording : validate::read_recordings(*asked.recorded)) {
    const auto is_its = [&](const validate::Suite& suite) { return suite.name == recording.head.suite; };
    if (std::any_of(suites.begin(), suites.end(), is_its)) recordings.push_back(std::move(recording));
  }
  if (recordings.empty())
    throw InvalidParameter("recorded", *asked.recorded, "a folder with recordings of these suites");
  return compared(asked, suites, std::move(recordings), context);
}

/// A profile of any kernel beside the models' predictions for its point.
ComparedRecordings explain_profile(const AskedComparison& given, const study::Context& context) {
  AskedComparison asked = given;
  if (!asked.ncu_csv) throw InvalidParameter("ncu_csv", "none", "a profile that ncu --csv wrote");
  if (asked.point.words.empty())
    throw InvalidParameter("point", "absent",
                           "what the profiled kernel computed, as {'tokens': 65536, 'head_dim': 128}");
  if (!asked.profile) asked.profile = validate::kProfiledDevice;
  const validate::Point point = validate::parse_point_words(asked.point.words);
  const Device& device = context.catalog.device(*asked.profile);
  const std::string& path = *asked.ncu_csv;
  const validate::RecordedRow row = validate::row_of_launches(
      validate::parse_ncu_profile(read_text_file("ncu_csv", path), path, asked.decimal), asked.ncu_kernel,
      point);
  validate::Suite suite;
  suite.name = validate::kProfileSuite;
  asked.suites = {suite.name};
  return compared(asked, {suite}, {validate::recording_of_profile(device, path, row)}, context);
}

/// Recordings of a folder for views; none without one.
report::RecordedData recorded_data(const AskedComparison& asked, const study::Context& context) {
  report::RecordedData data;
  data.devices = context.catalog.devices;
  data.suites = asked.suites;
  if (data.suites.empty()) data.suites = validate::builtin_suite_names();
  if (!asked.recorded) return data;
  data.recordings = validate::read_recordings(*asked.recorded);
  data.sdpa = validate::read_sdpa_recordings(*asked.recorded);
  return data;
}

/// @throws InvalidParameter where the recordings are not those that it shows; UnknownName.
report::ValidationView view_of(const ComparedRecordings& found, const study::Context& context,
                               const std::string& name) {
  const report::ViewKind& kind = report::view_kind(name);
  std::optional<report::ValidationView> view = kind.make(recorded_data(found.asked, context));
  if (!view) throw InvalidParameter("recorded", found.asked.recorded.value_or("none"), kind.needs);
  return std::move(*view);
}

/// Predicted against measured of each counter, and the views that are drawn.
std::vector<Picture<ComparedRecordings>> comparison_pictures(const ComparedRecordings& asked) {
  std::vector<Picture<ComparedRecordings>> pictures;
  for (const validate::ComparisonRow& row : asked.comparison.rows) {
    const auto is_its = [&](const auto& picture) { return picture.name == row.counter; };
    if (std::any_of(pictures.begin(), pictures.end(), is_its)) continue;
    pictures.push_back(
        {row.counter, [counter = row.counter](const ComparedRecordings& found, const study::Context&) {
           return counter_svg(found.comparison, counter);
         }});
  }
  if (!asked.asked.recorded) return pictures;
  for (const report::ViewKind* kind : report::view_kinds()) {
    if (!kind->drawn) continue;
    pictures.push_back({kind->name, [kind](const ComparedRecordings& found, const study::Context& context) {
                          return view_of(found, context, kind->name).picture.value().svg;
                        }});
  }
  return pictures;
}

Study<AskedComparison, ComparedRecordings> comparison_study() {
  return {.schema = "validate",
          .duration = Duration::kLong,
          .input = [](const Keywords<AskedComparison>& rows,
                      const ComparedRecordings& found) { return rows.echo(found.asked); },
          .result =
              [](const ComparedRecordings& found, const study::Context&) {
                return report::validation_json(found.recordings, found.comparison);
              },
          .result_schema = report::validation_schema,
          .input_schema =
              [] {
                return report::one_of({comparison_keywords(false).echo_schema({"decimal", "kernel"}),
                                       comparison_keywords(true).echo_schema({"decimal", "kernel"})});
              },
          .text =
              [](const ComparedRecordings& found, const study::Context&) {
                const auto rows = found.asked.rows ? report::RowsText::kAll : report::RowsText::kNone;
                return report::validation_text(found.recordings, found.comparison, rows);
              },
          .csv = [](const ComparedRecordings& found, const study::Context&,
                    const Json&) { return report::csv_text(report::validation_rows(found.comparison)); },
          .pictures = comparison_pictures,
          .closing = [](const ComparedRecordings& found, const study::Context&)
              -> std::optional<report::Closing> { return report::closing_of(found.comparison); }};
}

using ComparisonObject = AnswerOf<AskedComparison, ComparedRecordings>;

std::string view_doc() {
  std::vector<std::string> names;
  for (const report::ViewKind* kind : report::view_kinds()) names.push_back(kind->name);
  return "Another view of the recordings, as `natten-sim validate --view` shows it.\n\n"
         "Args:\n"
         "    name: " +
         joined(names) +
         ".\n\n"
         "Returns:\n"
         "    A record a row; docs/cli-validate.md names the members and their units.\n\n"
         "Raises:\n"
         "    Error: There is no such view, or these recordings are not those that it shows.";
}

void bind_compare(nb::module_& module) {
  auto comparing = comparison_study();
  comparing.function = "compare";
  comparing.type = "Comparison";
  comparing.doc =
      "Compare predictions with recorded hardware counters and clocks, row by row.\n\n"
      "`rows` of the result hold predicted, measured, deviation and whether the point was fitted.";
  comparing.keywords = comparison_keywords(false);
  comparing.answer = compare_recordings;
  comparing.returns =
      "`rows` (predicted, measured and `deviation`, a fraction; counters in their own units, times in ms), "
      "`groups` with their\n    errors, `scores`, `throughput`.";
  comparing.source = "docs/validation.md.";
  auto type = bind(module, std::move(comparing));
  type.def(
      "view",
      [](const ComparisonObject& self, const std::string& name) {
        return frozen(Json(view_of(self.answer(), self.context(), name).rows));
      },
      nb::arg("name"), nb::sig("def view(self, name: str) -> tuple[natten_sim._record.Record, ...]"),
      view_doc().c_str());
  type.def(
      "page",
      [](const ComparisonObject& self) {
        const ComparedRecordings& found = self.answer();
        return report::validation_page(found.recordings, found.comparison,
                                       recorded_data(found.asked, self.context()));
      },
      "One HTML page with the recordings, errors, pictures, views, rows and misses.\n\n"
      "Returns:\n"
      "    The text of the page, as `natten-sim validate --report` writes it; it needs no other file.");

  auto explaining = comparison_study();
  explaining.function = "compare_profile";
  explaining.type = "Comparison";
  explaining.doc =
      "Compare a profile of your own kernel with what the models predict for it.\n\n"
      "The profile is what Nsight Compute writes with --csv; no source code and no annotation is needed.";
  explaining.returns = "as of compare(): `rows` for each counter that the profile has and a model predicts.";
  explaining.source = "docs/validation.md.";
  explaining.keywords = comparison_keywords(true);
  explaining.answer = explain_profile;
  explaining.positional = "ncu_csv";
  bind_function(module, std::move(explaining));
}

}  // namespace

StudyBinder compare_study();
StudyBinder compare_study() { return bind_compare; }

}  // namespace natten_sim::python

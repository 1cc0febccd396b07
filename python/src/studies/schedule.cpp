#include <natten_sim/core/error.hpp>
#include <natten_sim/io/flat_schedule.hpp>
#include <natten_sim/io/recorded_run.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/report/kernel_schedule_report.hpp>
#include <natten_sim/report/schedule_picture.hpp>
#include <natten_sim/report/object_schema.hpp>
#include <natten_sim/report/schedule_report.hpp>
#include <natten_sim/study/recorded_run.hpp>

#include "schedule_keywords.hpp"
#include "studies.hpp"
#include "study.hpp"
#include "text_file.hpp"

namespace natten_sim::python {
namespace {

/// One of the two.
struct ScheduleAnswers {
  AskedSchedule asked;
  study::ScheduleAnswer answer;
  std::optional<study::KernelScheduleAnswer> kernel;
};

study::ScheduleAnswer run(const AskedSchedule& asked, const study::ScheduleDetail& detail,
                          const study::Context& context) {
  if (asked.table) {
    study::TableQuestion table = study::table_question_of(asked.parts, *asked.table);
    table.detail = detail;
    return study::schedule(table, context);
  }
  study::ScheduleQuestion question = study::question_of(asked.parts);
  question.detail = detail;
  return study::schedule(question, context);
}

ScheduleAnswers answer_schedule(const AskedSchedule& given, const study::Context& context) {
  ScheduleAnswers found{given, {}, std::nullopt};
  AskedSchedule asked = given;
  const std::optional<study::Context> with_file = with_costs(asked, context);
  const study::Context& known = with_file ? *with_file : context;
  if (asked.parts.kernel) {
    found.kernel = study::kernel_schedule(study::kernel_question_of(asked.parts), known);
    return found;
  }
  const bool one = asked.table || asked.parts.one_algorithm();
  found.answer = run(asked, {.plan = one, .critical_path = asked.critical_path && one}, known);
  if (one) (void)study::require_finished(found.answer.results.front());
  return found;
}

Json schedule_input(const Keywords<AskedSchedule>&, const ScheduleAnswers& found) {
  return found.kernel ? kernel_schedule_echo(found.asked, *found.kernel)
                      : schedule_echo(found.asked, found.answer);
}

/// Of a table only what it loses: it was not drawn from a question that other schedules answer too.
std::optional<report::Closing> schedule_closing(const ScheduleAnswers& found, const study::Context&) {
  if (found.kernel) return report::closing_of(*found.kernel);
  const study::ScheduleQuestion asked =
      found.asked.table ? study::ScheduleQuestion{} : study::question_of(found.asked.parts);
  return report::closing_of(found.answer, study::conclude(found.answer, asked));
}

report::CriticalPath path_of(const ScheduleAnswers& found) {
  return found.asked.critical_path ? report::CriticalPath::kShown : report::CriticalPath::kHidden;
}

Json schedule_result(const ScheduleAnswers& found, const study::Context&) {
  return found.kernel ? report::kernel_schedule_result(*found.kernel)
                      : report::schedule_result(found.answer, path_of(found));
}

/// One schedule that does not finish is an error: its members have values.
Json result_schema() {
  Json one = report::schedule_schema();
  for (const char* member : {"makespan", "lower_bound", "lower_bound_by", "optimality_gap", "proved", "utilization",
                             "total_work", "heads_in_flight", "hang_free", "dispatch"}) {
    Json& type = one["properties"][member]["type"];  // ["number", "null"]
    type = Json(type.at(std::size_t{0}));
  }
  return report::one_of({one, report::kernel_schedule_schema()});
}

std::string schedule_csv(const ScheduleAnswers& found, const study::Context&, const Json&) {
  return report::csv_text(found.kernel ? report::kernel_schedule_rows(*found.kernel) : report::schedule_rows(found.answer));
}

std::string schedule_text(const ScheduleAnswers& found, const study::Context&) {
  if (found.kernel) return report::kernel_schedule_text(*found.kernel);
  if (found.answer.results.size() > 1) return report::schedule_comparison(found.answer);
  return report::schedule_text(found.answer.results.front(), found.answer.problem, path_of(found));
}

/// @throws InvalidParameter where there are several schedules, or none of ours.
const study::ScheduleResult& the_schedule(const ScheduleAnswers& found) {
  if (found.kernel)
    throw InvalidParameter("kernel", *found.asked.parts.kernel, "one algorithm instead of a kernel, as best");
  if (found.answer.results.size() > 1)
    throw InvalidParameter("algorithm", found.asked.parts.algorithm, "one algorithm, as best");
  return found.answer.results.front();
}

/// Runs the schedule again, and keeps its times: of a kernel that of its deterministic run.
study::ScheduleAnswer timed(const ScheduleAnswers& found, const study::ScheduleDetail& detail,
                            const study::Context& context) {
  AskedSchedule asked = found.asked;
  const std::optional<study::Context> with_file = with_costs(asked, context);
  if (found.kernel) {
    study::ScheduleQuestion question = study::deterministic_run(study::kernel_question_of(asked.parts), *found.kernel);
    question.detail = detail;
    return study::schedule(question, with_file ? *with_file : context);
  }
  (void)the_schedule(found);
  return run(asked, detail, with_file ? *with_file : context);
}

/// The schedule as a kernel ran it, where there is a file of that.
std::optional<study::FinishedSchedule> recorded_run(const study::FinishedSchedule& simulated,
                                                    nb::handle file) {
  if (file.is_none()) return std::nullopt;
  const std::string path = text_of("recorded_run", file, "a path");
  return study::as_recorded(simulated,
                            parse_recorded_run(read_text_file("recorded_run", path), "recorded run " + path));
}

std::string schedule_gantt(const ScheduleAnswers& found, const study::Context& context, nb::handle recorded) {
  const study::ScheduleAnswer again = timed(found, {.times = true, .critical_path = true}, context);
  const study::ScheduleResult& result = again.results.front();
  const study::FinishedSchedule& finished = study::require_finished(result);
  const std::optional<study::FinishedSchedule> run = recorded_run(finished, recorded);
  const std::string mask = found.asked.table ? "of the table" : mask_text(found.asked.parts.question.mask);
  const std::string name = (found.kernel ? found.kernel->kernel.name + ", " : "") + result.name;
  return report::schedule_picture(name, finished, again, mask, run ? &*run : nullptr).svg;
}

std::vector<Picture<ScheduleAnswers>> schedule_pictures(const ScheduleAnswers& asked) {
  if (asked.kernel ? !asked.kernel->deterministic : asked.answer.results.size() > 1) return {};
  return {{"gantt", [](const ScheduleAnswers& found, const study::Context& context) {
             return schedule_gantt(found, context, nb::none());
           }}};
}

std::string schedule_trace(const ScheduleAnswers& found, const study::Context& context, nb::handle recorded) {
  const study::ScheduleAnswer again = timed(found, {.times = true}, context);
  const study::FinishedSchedule& finished = study::require_finished(again.results.front());
  const std::optional<study::FinishedSchedule> run = recorded_run(finished, recorded);
  return report::schedule_trace(finished, run ? &*run : nullptr);
}

ScheduleTable schedule_table(const ScheduleAnswers& found) {
  const study::ScheduleResult& result = the_schedule(found);
  return study::table_of(result.name, study::require_finished(result));
}

using ScheduleObject = AnswerOf<AskedSchedule, ScheduleAnswers>;

/// What a kernel loads, and what a person looks at.
void bind_schedule_files(nb::class_<ScheduleObject, Answer>& type) {
  type.def(
      "table",
      [](const ScheduleObject& self) {
        return to_python(parse_json(to_json(schedule_table(self.answer()))));
      },
      nb::sig("def table(self) -> dict[str, typing.Any]"),
      "The schedule for a kernel to load, as --emit-table writes it.\n\n"
      "Returns:\n"
      "    Schema natten-sim.schedule-table: the chains in launch order and, for each head and Q tile, the KV "
      "tiles in the\n    order of their reductions.\n\n"
      "Raises:\n"
      "    Error: There are several algorithms, or a kernel's own schedule.");
  type.def(
      "header", [](const ScheduleObject& self) { return schedule_header(schedule_table(self.answer())); },
      "The table as a C++ header, as --emit-header writes it.\n\n"
      "Returns:\n"
      "    The text of the header.\n\n"
      "Raises:\n"
      "    Error: There are several algorithms, or a kernel's own schedule.");
  type.def(
      "binary",
      [](const ScheduleObject& self) {
        const std::string bytes = schedule_binary(schedule_table(self.answer()));
        return nb::bytes(bytes.data(), bytes.size());
      },
      "The table as flat 32-bit integers, as --emit-binary writes them.\n\n"
      "Returns:\n"
      "    Bytes; docs/schedule-tables.md says which integer is what.\n\n"
      "Raises:\n"
      "    Error: There are several algorithms, or a kernel's own schedule.");
}

void bind_schedule_runs(nb::class_<ScheduleObject, Answer>& type) {
  type.def(
      "gantt",
      [](const ScheduleObject& self, nb::object recorded_run) {
        return schedule_gantt(self.answer(), self.context(), recorded_run);
      },
      nb::arg("recorded_run") = nb::none(),
      nb::sig("def gantt(self, recorded_run: str | os.PathLike[str] | None = None) -> str"),
      "A Gantt chart, one row a worker, with a run of a kernel below it.\n\n"
      "Args:\n"
      "    recorded_run: File with the times that a kernel recorded, in microseconds [none].\n\n"
      "Returns:\n"
      "    The text of an SVG document.\n\n"
      "Raises:\n"
      "    Error: There are several algorithms or over 2^24 tasks, or the tasks are not those of the schedule.");
  type.def(
      "trace",
      [](const ScheduleObject& self, nb::object recorded_run) {
        return schedule_trace(self.answer(), self.context(), recorded_run);
      },
      nb::arg("recorded_run") = nb::none(),
      nb::sig("def trace(self, recorded_run: str | os.PathLike[str] | None = None) -> str"),
      "Trace events that ui.perfetto.dev opens, one track a worker.\n\n"
      "Args:\n"
      "    recorded_run: File with the times that a kernel recorded, shown as a second process [none].\n\n"
      "Returns:\n"
      "    JSON text; a unit of time is shown as a microsecond.\n\n"
      "Raises:\n"
      "    Error: There are several algorithms, or the tasks are not those of the schedule.");
}

void bind_schedule(nb::module_& module) {
  auto type = bind(
      module,
      Study<AskedSchedule, ScheduleAnswers>{
          .function = "schedule",
          .type = "Schedule",
          .schema = "schedule",
          .doc = "Simulate and search schedules of a deterministic attention backward pass.\n\n"
                 "Times are in the unit of the costs. With one algorithm the members of the result are those "
                 "of its schedule;\nwith all of them, `algorithms` has one record each; with a kernel, "
                 "`kernel` has its milliseconds.",
          .returns =
              "`makespan` and its `lower_bound`, waiting and idle times (all in the unit of the costs), "
              "`optimality_gap` and\n    `utilization` as fractions; with a kernel milliseconds and "
              "TFLOP/s.",
          .source = "DASH (arXiv 2601.21824); docs/schedules.md.",
          .duration = Duration::kLong,
          .many = "schedule_many",
          .many_doc = "Simulate a schedule of a deterministic backward pass for many problems at once, each with one algorithm.",
          .keywords = schedule_keywords(),
          .answer = answer_schedule,
          .input = schedule_input,
          .result = schedule_result,
          .result_schema = result_schema,
          .input_schema = schedule_input_schema,
          .text = schedule_text,
          .csv = schedule_csv,
          .pictures = schedule_pictures,
          .closing = schedule_closing});
  bind_schedule_files(type);
  bind_schedule_runs(type);
}

}  // namespace

StudyBinder schedule_study();
StudyBinder schedule_study() { return bind_schedule; }

}  // namespace natten_sim::python

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/kernel_schedule_report.hpp>
#include <natten_sim/report/schedule_picture.hpp>
#include <natten_sim/report/schedule_report.hpp>

#include "schedule_keywords.hpp"
#include "studies.hpp"
#include "study.hpp"

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
  if (asked.kernel) {
    found.kernel = study::kernel_schedule(kernel_question_of(asked), known);
    return found;
  }
  const bool one = asked.table || asked.parts.one_algorithm();
  found.answer = run(asked, {.plan = one, .critical_path = asked.critical_path && one}, known);
  if (one) (void)study::require_finished(found.answer.results.front());
  return found;
}

Json schedule_input(const Keywords<AskedSchedule>& rows, const ScheduleAnswers& found) {
  return found.kernel ? kernel_schedule_echo(found.asked, *found.kernel)
                      : schedule_echo(rows, found.asked, found.answer);
}

report::CriticalPath path_of(const ScheduleAnswers& found) {
  return found.asked.critical_path ? report::CriticalPath::kShown : report::CriticalPath::kHidden;
}

Json schedule_result(const ScheduleAnswers& found, const study::Context&) {
  return found.kernel ? report::kernel_schedule_result(*found.kernel)
                      : report::schedule_result(found.answer, path_of(found));
}

std::string schedule_csv(const ScheduleAnswers& found, const study::Context&, const Json&) {
  return found.kernel ? report::kernel_schedule_csv(*found.kernel) : report::schedule_csv(found.answer);
}

std::string schedule_text(const ScheduleAnswers& found, const study::Context&) {
  if (found.kernel) return report::kernel_schedule_text(*found.kernel);
  if (found.answer.results.size() > 1) return report::schedule_comparison(found.answer);
  return report::schedule_text(found.answer.results.front(), found.answer.problem, path_of(found));
}

/// @throws InvalidParameter where there are several schedules, or none of ours.
const study::ScheduleResult& the_schedule(const ScheduleAnswers& found) {
  if (found.kernel)
    throw InvalidParameter("kernel", *found.asked.kernel, "one algorithm instead of a kernel, as best");
  if (found.answer.results.size() > 1)
    throw InvalidParameter("algorithm", found.asked.parts.algorithm, "one algorithm, as best");
  return found.answer.results.front();
}

/// Runs the schedule again, and keeps its times.
study::ScheduleAnswer timed(const ScheduleAnswers& found, const study::ScheduleDetail& detail,
                            const study::Context& context) {
  (void)the_schedule(found);
  AskedSchedule asked = found.asked;
  const std::optional<study::Context> with_file = with_costs(asked, context);
  return run(asked, detail, with_file ? *with_file : context);
}

std::string schedule_svg(const ScheduleAnswers& found, const study::Context& context) {
  const study::ScheduleAnswer again = timed(found, {.times = true, .critical_path = true}, context);
  const study::ScheduleResult& result = again.results.front();
  return report::schedule_svg(result.name, study::require_finished(result), again.problem);
}

std::string schedule_trace(const ScheduleAnswers& found, const study::Context& context) {
  return report::schedule_trace(
      study::require_finished(timed(found, {.times = true}, context).results.front()));
}

nb::object schedule_table(const ScheduleAnswers& found) {
  const study::ScheduleResult& result = the_schedule(found);
  return to_python(parse_json(to_json(study::table_of(result.name, study::require_finished(result)))));
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
          .duration = Duration::kLong,
          .keywords = schedule_keywords(),
          .check = require_schedule_keywords,
          .answer = answer_schedule,
          .input = schedule_input,
          .result = schedule_result,
          .text = schedule_text,
          .csv = schedule_csv,
          .svg = schedule_svg});
  using ScheduleObject = AnswerOf<AskedSchedule, ScheduleAnswers>;
  type.def(
      "table", [](const ScheduleObject& self) { return schedule_table(self.answer()); },
      nb::sig("def table(self) -> dict[str, typing.Any]"),
      "The schedule for a kernel to load: schema natten-sim.schedule-table/1, with the chains in launch "
      "order and, "
      "for\neach head and Q tile, the KV tiles in the order of their reductions. Raises Error for several "
      "algorithms.");
  type.def(
      "trace", [](const ScheduleObject& self) { return schedule_trace(self.answer(), self.context()); },
      "Trace events in JSON that ui.perfetto.dev opens, one track a worker.");
}

}  // namespace

StudyBinder schedule_study();
StudyBinder schedule_study() { return bind_schedule; }

}  // namespace natten_sim::python

#include "commands/rows/schedule_rows.hpp"

#include <natten_sim/io/files.hpp>

#include "cli/described.hpp"
#include "cli/estimates.hpp"
#include "cli/picture_file.hpp"
#include "cli/table_file.hpp"
#include "commands/rows/schedule_values.hpp"

namespace natten_sim::cli {
namespace {

using Flags = ScheduleFlags;
using study::ScheduleParts;

Options<Flags> foreign_table_rows() {
  Options<Flags> rows;
  rows.add("--table", &Flags::table,
           {.value = "FILE",
            .help = "Check and run the schedule in FILE (- for standard input; up to 512 MiB) instead of an "
                    "algorithm's",
            .echo = Echo::kWhenSet,
            .rules_out = study::ruled_out_by_table()});
  rows.add("--recorded-run", &Flags::recorded_run,
           {.value = "FILE",
            .help = "With --table: times of a kernel's run of it, drawn below the simulation (CSV)"});
  return rows;
}

Options<Flags> file_rows() {
  Options<Flags> rows;
  rows.add("--emit-header", &Flags::emit_header,
           {.value = "FILE", .help = "Write the schedule as arrays of a CUDA or C++ header"});
  rows.add("--emit-binary", &Flags::emit_binary,
           {.value = "FILE", .help = "Write the same arrays as 32-bit integers"});
  rows.add("--emit-table", &Flags::emit_table,
           {.value = "FILE", .help = "Write the schedule for a kernel to load"});
  rows.add("--checkpoint", &Flags::checkpoint,
           {.value = "FILE",
            .help = "Keep the best schedule of a search so far in FILE, every few seconds; a run that finds "
                    "FILE goes on from there"});
  rows.add("--critical-path", &Flags::critical_path, {.help = "Add the critical path"});
  rows.add("--ascii", &Flags::ascii,
           {.help = "Draw a Gantt chart in the terminal", .excludes = {"json", "csv"}});
  rows.add("--picture", within(&Flags::output, &OutputFlags::picture),
           about_picture("a Gantt chart: heads coloured, the critical path outlined"));
  rows.include(picture_size_rows(), &Flags::output);
  rows.include(cli::table_rows("--answer-table"), &Flags::output);
  rows.add(
      "--perfetto", &Flags::perfetto,
      {.value = "FILE", .help = "Write a trace for ui.perfetto.dev, one track a worker; at most 2^21 tasks"});
  rows.include(conclusion_rows(), &Flags::output);
  rows.include(estimate_rows(), &Flags::output);
  rows.include(output_rows(), &Flags::output);
  return rows;
}

void put_detail(const Flags& flags, study::ScheduleDetail& detail) {
  detail.times = flags.output.picture || flags.ascii || flags.perfetto;
  detail.critical_path = flags.critical_path || flags.output.picture;
}

}  // namespace

Options<ScheduleFlags> schedule_rows() {
  Options<ScheduleFlags> rows;
  rows.include(options_of<ScheduleParts>(), &ScheduleFlags::parts);
  rows.include(device_file_rows(), &ScheduleFlags::files);
  for (auto part : {foreign_table_rows(), file_rows()}) rows.include(part);
  return rows.group("Tables and pictures");
}

Json schedule_input(const ScheduleFlags& flags, const study::ScheduleAnswer& answer) {
  ScheduleFlags resolved = flags;
  resolved.parts = study::parts_of(flags.parts, answer);
  OptionMembers<ScheduleParts> members;
  study::describe_answered(members, resolved.parts, flags.table.has_value());
  Options<ScheduleFlags> rows;
  if (flags.table) rows.include(foreign_table_rows());
  rows.include(std::move(members).options(), &ScheduleFlags::parts);
  return rows.echo(resolved);
}

Json kernel_schedule_input(const ScheduleFlags& flags, const study::KernelScheduleAnswer& answer) {
  const ScheduleParts resolved = study::parts_of(flags.parts, answer);
  OptionMembers<ScheduleParts> members;
  study::describe_answered_kernel(members, resolved);
  return std::move(members).options().echo(resolved);
}

Json schedule_input_schema() {
  OptionMembers<ScheduleParts> members;
  study::describe_answered(members, {}, false);
  study::describe_answered_kernel(members, {});
  Options<ScheduleFlags> rows = foreign_table_rows();
  rows.include(std::move(members).options(), &ScheduleFlags::parts);
  return rows.input_schema();
}

study::ScheduleQuestion schedule_question(const ScheduleFlags& flags) {
  study::ScheduleQuestion question = study::question_of(flags.parts);
  put_detail(flags, question.detail);
  return question;
}

study::TableQuestion table_question(const ScheduleFlags& flags) {
  const std::string& path = flags.table.value();
  study::TableQuestion question = study::table_question_of(
      flags.parts, parse_schedule_table(read_text("table", path, kMaxTableBytes), "table " + path));
  put_detail(flags, question.detail);
  return question;
}

}  // namespace natten_sim::cli

// Schedule tables: an accepted one is written as itself, and simulates to an end or a deadlock.
#include <natten_sim/io/flat_schedule.hpp>
#include <natten_sim/io/schedule_table.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "fuzz/target.hpp"

void natten_sim::fuzz::read(std::string_view input) {
  const ScheduleTable table = parse_schedule_table(input, "input");
  const std::string written = to_json(table);
  require(to_json(parse_schedule_table(written, "written")) == written, "a written table reads as itself");
  require(!schedule_binary(table).empty(), "a table has a binary form");
  const auto outcome = attempt_schedule(table.problem, {}, table.schedule);
  if (const auto* run = std::get_if<ScheduleRun>(&outcome))
    require(run->makespan >= 0 && run->makespan <= run->total_work, "no time in which nobody works");
}

// Schedule tables, and checkpoints that hold one: an accepted one is written as itself, and simulates to an
// end or a deadlock.
#include <natten_sim/io/flat_schedule.hpp>
#include <natten_sim/io/search_checkpoint.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::schedule_table {

void read(std::string_view input) {
  ScheduleTable table;
  if (input.find("natten-sim.search-checkpoint/") != std::string_view::npos) {
    const SearchCheckpoint checkpoint = parse_search_checkpoint(input, "input");
    const std::string text = to_json(checkpoint);
    require(to_json(parse_search_checkpoint(text, "written")) == text,
            "a written checkpoint reads as itself");
    table = checkpoint.best;
  } else {
    table = parse_schedule_table(input, "input");
  }
  const std::string written = to_json(table);
  require(to_json(parse_schedule_table(written, "written")) == written, "a written table reads as itself");
  require(!schedule_binary(table).empty(), "a table has a binary form");
  const auto outcome = attempt_schedule(table.problem, {}, table.schedule);
  if (const auto* run = std::get_if<ScheduleRun>(&outcome))
    require(run->makespan >= 0 && run->makespan <= run->total_work, "no time in which nobody works");
}

const Target kTarget("schedule_table", read);

}  // namespace natten_sim::fuzz::schedule_table

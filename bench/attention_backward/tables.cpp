#include "tables.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::bench {

std::optional<ScheduleTable> table_of(const backward::Problem& problem, const backward::KernelShape& kernel,
                                      const std::string& algorithm, std::int32_t workers, std::int64_t effort,
                                      bool grouped) {
  ScheduleRequest request;
  request.problem = grouped ? backward::grouped_problem(problem, kernel, workers)
                            : backward::scheduling_problem(problem, kernel, workers);
  // Microseconds, rounded: data/schedule-costs/ours-h200-*.json.
  request.costs = {.compute = 2,
                   .compute_partial = 2,
                   .reduce = 0.9,
                   .per_tile_tax = 0.7,
                   .handoff = 0.6,
                   .prologue = 3,
                   .epilogue = 3,
                   .writer_stages = 2};
  request.effort = effort;
  const std::size_t plus = algorithm.find('+'), colon = algorithm.find(':');
  if (plus != std::string::npos) {
    const std::string launch = algorithm.substr(plus + 1, colon - plus - 1);
    std::int32_t heads = 0;
    const char* const end = algorithm.data() + algorithm.size();
    const bool counted = colon != std::string::npos;
    const bool read = counted &&
                      std::from_chars(algorithm.data() + colon + 1, end, heads).ptr == end && heads > 0;
    const bool spread = launch == "spread";
    if (counted ? !read || (!spread && launch != "sections") : !spread)
      throw InvalidParameter("algorithm", algorithm, "NAME, NAME+spread, NAME+sections:HEADS or NAME+spread:HEADS");
    if (spread) request.walk = TileWalk::kSpread;
    if (counted) request.launch = HeadSections{heads};
  }
  const ScheduleAlgorithm& chosen = schedule_algorithm(algorithm.substr(0, plus));
  // A searched table that is dispatched dynamically finishes as it was simulated, not whatever the timing.
  if (chosen.searches) request.dispatch = Dispatch::kStatic;
  const PlanOutcome outcome = attempt_plan(chosen, request);
  const SchedulePlan* plan = std::get_if<SchedulePlan>(&outcome);
  if (plan == nullptr || plan->phases.size() != 1) return std::nullopt;
  return ScheduleTable{plan->phases.front().problem, plan->phases.front().schedule};
}

ScheduleTable read_table(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_schedule_table(text.str(), path);
}

}  // namespace natten_sim::bench

// Chains without tasks in exact schedules: a CTA that exits early is placed where it costs nothing.
#include <string>
#include <vector>

#include <natten_sim/search/schedules/schedule_algorithm.hpp>

#include "catch.hpp"

namespace early_exit_test {

using namespace natten_sim;

/// Rows are Q tiles; 'f' is a full tile, 'p' a partial one, '.' none.
BlockMask mask_of(const std::vector<std::string>& rows) {
  BlockMask mask;
  mask.q_tiles = static_cast<std::int32_t>(rows.size());
  mask.kv_tiles = static_cast<std::int32_t>(rows.front().size());
  for (const std::string& row : rows) {
    for (const char tile : row)
      mask.work.push_back(tile == 'f' ? TileWork::kFull : tile == 'p' ? TileWork::kPartial : TileWork::kNone);
  }
  return mask;
}

PlanRun best_of(const ScheduleRequest& request) {
  return run_plan(plan_backward(schedule_algorithm("best"), request));
}

TEST_CASE("an early exit before a chain that waits for its turn anyway costs nothing") {
  ScheduleRequest request;
  request.problem = {.mask = mask_of({"..p", ".fp"}), .workers = 2};
  request.costs = {.compute = 2.5,
                   .compute_partial = 0,
                   .reduce = 2,
                   .per_tile_tax = 1,
                   .writer_stages = 1,
                   .early_exit = 0.5,
                   .release = TurnRelease::kAfterNext};
  const PlanRun run = best_of(request);
  // KV tile 1, behind the exit: its compute ends at .5 + 2.5, its reduction takes 3, ends at 6. KV tile 2 is
  // done at 6 as well, if it reduces Q tile 1 first: computes take no time, reductions 3 each.
  CHECK(run.makespan == 6);
  CHECK(run.optimality_gap == 0.0);
}

TEST_CASE("two waiting chains and one early exit end with the longer chain") {
  ScheduleRequest request;
  request.problem = {.mask = mask_of({"f..", "ff.", ".p."}), .workers = 2};
  request.costs = {.compute = 4.5,
                   .compute_partial = 4,
                   .reduce = 4.5,
                   .writer_stages = 1,
                   .early_exit = 0.5,
                   .release = TurnRelease::kAfterNext};
  const PlanRun run = best_of(request);
  // KV tile 0 reduces Q tile 1 from 4.5 to 9, and passes its turn on at 9, when it begins to reduce Q tile 0.
  // KV tile 1 waits for that turn until 9, and then reduces until 13.5: an exit before it fits the wait.
  CHECK(run.makespan == 13.5);
  CHECK(run.optimality_gap == 0.0);
}

}  // namespace early_exit_test

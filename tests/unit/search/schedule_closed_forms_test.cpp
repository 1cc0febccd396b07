// Where schedules have no closed form.
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"

namespace schedule_closed_forms_test {

using namespace natten_sim;

const ScheduleAlgorithm& kAscending = schedule_algorithm("ascending");

/// Two heads of tiles x tiles.
ScheduleRequest causal_request(std::int32_t tiles, std::int32_t workers) {
  ScheduleRequest request;
  request.problem.mask = window_mask({2 * tiles, 2 * tiles, 2, 2}, {std::nullopt, 0});
  request.problem.heads = 2;
  request.problem.workers = workers;
  request.costs = {.compute = 7, .compute_partial = 7, .reduce = 2};
  return request;
}

TEST_CASE("a mask with as many tiles as a causal one, at other places, has no closed form") {
  ScheduleRequest request = causal_request(2, 2);
  CHECK(closed_form(kAscending, request, Dispatch::kDynamic).has_value());
  request.problem.mask.work[0] = TileWork::kNone;  // of the first row the other tile
  request.problem.mask.work[1] = TileWork::kFull;
  CHECK_FALSE(closed_form(kAscending, request, Dispatch::kDynamic).has_value());
  request.problem.mask.work[0] = TileWork::kFull;  // both, and of the second row one
  request.problem.mask.work[2] = TileWork::kNone;
  CHECK_FALSE(closed_form(kAscending, request, Dispatch::kDynamic).has_value());
}

TEST_CASE("a causal mask with a KV tile that nobody attends to is none of the shapes") {
  ScheduleRequest request = causal_request(2, 2);
  request.problem.mask = {2, 3, std::vector<TileWork>(6, TileWork::kNone)};
  for (const std::size_t cell : {0, 3, 4}) request.problem.mask.work[cell] = TileWork::kFull;
  CHECK_FALSE(closed_form(kAscending, request, Dispatch::kDynamic).has_value());
}

TEST_CASE("a closed form is of chains head by head and tiles in order") {
  ScheduleRequest request = causal_request(4, 4);
  request.launch = HeadSections{1};
  CHECK(closed_form(kAscending, request, Dispatch::kDynamic).has_value());
  request.launch = HeadSections{2};
  CHECK_FALSE(closed_form(kAscending, request, Dispatch::kDynamic).has_value());
  request.launch.reset();
  request.walk = TileWalk::kPartialFirst;
  CHECK_FALSE(closed_form(kAscending, request, Dispatch::kDynamic).has_value());
}

}  // namespace schedule_closed_forms_test

// Where costs decide which schedule is fastest, and which schedules an answer to all leaves out.
#include <algorithm>

#include <natten_sim/study/schedule.hpp>

#include "catch.hpp"

namespace cost_map_test {

using namespace natten_sim;

study::ScheduleQuestion square_question(std::int64_t tiles, ScheduleMask mask, std::int32_t heads) {
  study::ScheduleQuestion question;
  question.sizes = study::TileSizes{.q_tiles = tiles};
  question.mask = std::move(mask);
  question.heads = heads;
  question.detail.plan = false;
  question.cost_map = true;
  return question;
}

TEST_CASE("where reductions are dear, two passes without any beat every order of one pass") {
  // 8 x 8 tiles, full, 8 workers, one head. Two passes: 8 * (4 + 3)/5 = 11.2 computes, whatever a reduction
  // costs. One pass at its best (shift): 8 * (1 + r). So the passes win above r = 0.4.
  const study::ScheduleAnswer answer =
      study::schedule(square_question(8, {FullMask{}}, 1), study::default_context());
  REQUIRE(answer.cost_map.size() == 15);
  for (const study::CostRegion& region : answer.cost_map) {
    INFO("reduce " << region.reduce << ", handoff " << region.handoff);
    if (region.reduce >= 0.5) CHECK(region.fastest == "two-pass");
    if (region.reduce == 0.25 && region.handoff == 0) CHECK(region.fastest == "shift");
  }
}

TEST_CASE("a search is left out of all algorithms where it takes long, unless an effort is given") {
  // 64 x 64 tiles and 8 heads: 32,768 tasks, more than the 16,384 that are cheap.
  study::ScheduleQuestion question = square_question(64, {FullMask{}}, 8);
  const auto searched = [](const study::ScheduleAnswer& answer) {
    return std::any_of(answer.results.begin(), answer.results.end(),
                       [](const study::ScheduleResult& result) { return result.name == "best"; });
  };
  const study::ScheduleAnswer without = study::schedule(question, study::default_context());
  CHECK_FALSE(searched(without));
  CHECK(without.left_out == std::vector<std::string>{"best"});
  CHECK(without.cost_map.empty());
  question.effort = 0;
  CHECK(searched(study::schedule(question, study::default_context())));
}

}  // namespace cost_map_test

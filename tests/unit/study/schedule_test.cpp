#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/study/schedule.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace schedule_test {

using namespace natten_sim;
using study::FinishedSchedule;
using study::ScheduleQuestion;
using natten_sim::test::shared_context;

ScheduleQuestion causal_question(std::int64_t tiles, std::int32_t heads, const std::string& algorithm) {
  ScheduleQuestion question;
  question.sizes = study::TileSizes{.q_tiles = tiles};
  question.mask = {CausalMask{}};
  question.heads = heads;
  question.algorithms = {algorithm};
  return question;
}

FinishedSchedule finished(const ScheduleQuestion& question) {
  const study::ScheduleAnswer answer = study::schedule(question, shared_context());
  REQUIRE(answer.results.size() == 1);
  return std::get<FinishedSchedule>(answer.results.front().outcome);
}

TEST_CASE(
    "a question with defaults alone is answered with one worker a KV tile, and one result an algorithm") {
  ScheduleQuestion question;
  question.sizes = study::TileSizes{.kv_tiles = 3};
  const study::ScheduleAnswer answer = study::schedule(question, shared_context());
  CHECK(answer.problem.workers == 3);
  CHECK(answer.problem.mask.q_tiles == 3);
  CHECK(answer.heads_kv == 1);
  CHECK(answer.results.size() == schedule_algorithms().size());
}

TEST_CASE("what cannot be scheduled is a value among all algorithms") {
  ScheduleQuestion question;
  question.sizes = study::TileSizes{.q_tiles = 4};
  question.mask = {SlidingWindowMask{1, 0}};
  int refused = 0;
  for (const study::ScheduleResult& result : study::schedule(question, shared_context()).results) {
    if (!std::holds_alternative<NotApplicable>(result.outcome)) continue;
    CHECK(result.name == "symmetric-shift");
    ++refused;
  }
  CHECK(refused == 1);
}

TEST_CASE("decimal costs schedule as whole ones, and times come back in the given unit") {
  // Visiting times 0.3 + 0.1 + .. order a tie that whole costs break by KV tile.
  ScheduleQuestion tenths;
  tenths.sizes = study::TileSizes{5, 4};
  tenths.mask = {CausalMask{}};
  tenths.heads = 3;
  tenths.workers = 6;
  tenths.algorithms = {"shift"};
  tenths.costs = {.compute = 0.3, .compute_partial = 0.2, .reduce = 0.1, .handoff = 0.3};
  ScheduleQuestion whole = tenths;
  whole.costs = {.compute = 3, .compute_partial = 2, .reduce = 1, .handoff = 3};
  CHECK(finished(tenths).run.makespan == finished(whole).run.makespan / 10);
  const auto parts_of = [&](double compute) {
    whole.costs = {.compute = compute, .compute_partial = 1};
    return finished(whole).plan.phases.front().costs.compute_partial;  // 1 in parts
  };
  CHECK(parts_of(1) == 5);  // fifths, for two-pass
  CHECK(parts_of(0.25) == 500);
  CHECK(parts_of(1e-9) == 5e9);
  CHECK(parts_of(1e-10) == 1);  // as it is
  CHECK(parts_of(1.0 / 3) == 1);
  CHECK(parts_of(3e13) == 1);  // 60 tasks in fifths would pass 2^53
  whole.costs = {.compute = -1};
  CHECK_THROWS_AS(study::schedule(whole, shared_context()), InvalidParameter);
}

TEST_CASE("closed form, bound and run of one schedule: 8 causal tiles, spt, one head") {
  ScheduleQuestion question = causal_question(8, 1, "spt");
  question.costs = {.compute = 7, .reduce = 2};
  const FinishedSchedule spt = finished(question);
  CHECK(spt.closed_form == 8 * 9.0);  // m n (c + r)
  CHECK(spt.run.makespan == 72);
  CHECK(spt.finishes_on_any_workers);
}

TEST_CASE("workers come from a device: SMs times CTAs a SM, and a user's own device counts") {
  ScheduleQuestion question = causal_question(4, 1, "spt");
  question.workers = study::WorkersOfDevice{"h200", 2};
  CHECK(study::schedule(question, shared_context()).problem.workers == 2 * 132);
  question.workers = study::WorkersOfDevice{"no-such-device"};
  CHECK_THROWS_AS(study::schedule(question, shared_context()), UnknownName);
  question.workers = study::WorkersOfDevice{"h200", 33};
  CHECK_THROWS_AS(study::schedule(question, shared_context()), InvalidParameter);
}

TEST_CASE("details are kept when asked for") {
  ScheduleQuestion question = causal_question(3, 2, "ascending");
  CHECK(finished(question).dags.empty());
  CHECK(finished(question).run.runs.front().tasks.empty());
  question.detail = {.plan = true, .times = true, .critical_path = true};
  const FinishedSchedule detailed = finished(question);
  CHECK(detailed.run.runs.front().tasks.size() == 2 * 6);  // 6 of 9 pairs of tiles attend, for each head
  CHECK(detailed.dags.front().makespan == detailed.run.makespan);
  CHECK(detailed.dags.front().critical_path.back().end == detailed.run.makespan);
}

TEST_CASE("a table answers as the algorithm that made it, on as many workers or more") {
  ScheduleQuestion question = causal_question(5, 2, "shift");
  question.costs = {.compute = 3, .reduce = 1};
  const FinishedSchedule made = finished(question);
  study::TableQuestion table{.table = study::table_of("shift", made), .costs = question.costs};
  const study::ScheduleAnswer answer = study::schedule(table, shared_context());
  CHECK(std::get<FinishedSchedule>(answer.results.front().outcome).run.makespan == made.run.makespan);
  CHECK(answer.results.front().name == "table");
  table.workers = 4;  // static dispatch on 5
  CHECK_THROWS_AS(study::schedule(table, shared_context()), InvalidParameter);
  question.algorithms = {"two-pass"};
  CHECK_THROWS_AS(study::table_of("two-pass", finished(question)), InvalidParameter);
}

TEST_CASE("sizes are refused beside a mask that brings its own, and required beside one that does not") {
  ScheduleQuestion question = causal_question(4, 1, "spt");
  question.mask = {GnaMask{.layout = Extents{64}}};
  CHECK_THROWS_AS(study::schedule(question, shared_context()), InvalidParameter);
  question.sizes = {};
  CHECK(study::schedule(question, shared_context()).problem.mask.q_tiles > 0);
  question.mask = {};
  CHECK_THROWS_AS(study::schedule(question, shared_context()), InvalidParameter);
  question.sizes = study::TileSizes{.q_tiles = 5};
  question.mask = {DocumentMask{{2, 2}}};
  CHECK_THROWS_AS(study::schedule(question, shared_context()), InvalidParameter);
}

}  // namespace schedule_test

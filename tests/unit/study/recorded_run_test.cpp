// A kernel's run of a table in place of its simulation.
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/recorded_run.hpp>
#include <natten_sim/study/recorded_run.hpp>

#include "catch.hpp"

namespace recorded_run_test {

using namespace natten_sim;

/// Two KV tiles and two Q tiles: worker 0 walks Q 0, 1, worker 1 walks Q 1, 0.
study::FinishedSchedule two_chains() {
  study::TableQuestion question;
  question.table.problem.mask = {2, 2, std::vector<TileWork>(4, TileWork::kFull)};
  question.table.problem.workers = 2;
  question.table.schedule.dispatch = Dispatch::kStatic;
  question.table.schedule.chains = {{0, 0, {0, 1}}, {0, 1, {1, 0}}};
  question.table.schedule.worker = {0, 1};
  question.table.schedule.dq_order = {{0, 1}, {1, 0}};
  question.detail.times = true;
  return study::require_finished(study::schedule(question, study::default_context()).results.front());
}

const std::string kHeaderLine = "head,q_tile,kv_tile,worker,ready_ns,turn_ns,end_ns\n";
const std::string kRecordedTasks =
    "0,0,0,0,0,0,1000\n"
    "0,0,1,1,2600,2700,3600\n"
    "0,1,0,0,2000,2500,3500\n"
    "0,1,1,1,500,500,1500\n";

TEST_CASE("a recorded run has the kernel's times in microseconds, and starts where the one before ended") {
  const std::vector<RecordedTask> tasks = parse_recorded_run(kHeaderLine + kRecordedTasks, "run");
  REQUIRE(tasks.size() == 4);
  const study::FinishedSchedule recorded = study::as_recorded(two_chains(), tasks);
  const ScheduleRun& run = recorded.run.runs.front();
  CHECK(run.worker == std::vector<std::int32_t>{0, 1});
  REQUIRE(run.tasks.size() == 4);
  // Worker 0 was ready at 0 and 2000 ns, so its first task started at -2000; worker 1 at 500 and 2600, so at
  // -1600. The first start is time 0.
  CHECK(run.tasks[0].compute_start == Approx(0));
  CHECK(run.tasks[0].compute_end == Approx(2));
  CHECK(run.tasks[0].reduce_end == Approx(3));
  CHECK(run.tasks[1].compute_start == Approx(2));
  CHECK(run.tasks[1].compute_end == Approx(4));
  CHECK(run.tasks[1].reduce_start == Approx(4.5));
  CHECK(run.tasks[2].compute_start == Approx(0.4));
  CHECK(run.tasks[3].compute_end == Approx(4.6));
  CHECK(run.tasks[3].reduce_end == Approx(5.6));
  CHECK(recorded.run.makespan == Approx(5.6));
}

TEST_CASE("a recorded run of another schedule is refused") {
  const auto refused = [](const std::string& lines) {
    INFO(lines);
    CHECK_THROWS_AS(study::as_recorded(two_chains(), parse_recorded_run(kHeaderLine + lines, "run")),
                    InvalidParameter);
  };
  refused("0,0,0,0,0,0,1000\n");                                            // tasks are missing
  refused(kRecordedTasks + "0,1,1,1,500,500,1500\n");                       // one twice
  refused(kRecordedTasks + "1,1,1,1,500,500,1500\n");                       // one of another head
  refused("0,0,0,0,0,0,1\n0,0,1,1,2,2,3\n0,1,0,1,2,2,3\n0,1,1,1,0,0,1\n");  // a chain on two workers
  refused("0,0,0,0,0,0,1\n0,0,1,2,2,2,3\n0,1,0,0,2,2,3\n0,1,1,2,0,0,1\n");  // a worker that is not there
}

TEST_CASE("lines of a recorded run are read strictly") {
  const auto refused = [](const std::string& text) {
    INFO(text);
    CHECK_THROWS_AS(parse_recorded_run(text, "run"), MalformedData);
  };
  refused("");
  refused(kHeaderLine);
  refused("head,q_tile\n0,0\n");
  refused(kHeaderLine + "0,0,0,0,0,0\n");
  refused(kHeaderLine + "0,0,0,0,0,0,1,2\n");
  refused(kHeaderLine + "0,0,0,0,0,0,1.5\n");
  refused(kHeaderLine + "0,0,-1,0,0,0,1\n");
  refused(kHeaderLine + "0,0,0,0,5,4,6\n");  // its turn before it was ready
  CHECK(parse_recorded_run(kHeaderLine + "1,2,3,4,5,6,7\r\n", "run").front().kv_tile == 3);
}

}  // namespace recorded_run_test

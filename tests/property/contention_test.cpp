// The closed form (models/) against the event queue (sim/), which share no code.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <vector>

#include <rapidcheck.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/models/scatter/contention.hpp>
#include <natten_sim/sim/scatter/collision_count.hpp>
#include <natten_sim/sim/scatter/contention_queue.hpp>

#include "catch.hpp"
#include "property/holds.hpp"

namespace contention_test {

using namespace natten_sim;

struct Case {
  std::vector<std::int64_t> rows;
  std::int64_t table = 0;
  ContentionQueue queue;
};

/// The same load for the closed form: one warp and one line an update, fp32 or (two lanes a word) bf16.
ContentionPrediction closed_form(const Case& test) {
  RowTally tally(test.table);
  for (const std::int64_t row : test.rows) tally.add(row);
  const CollisionCount count = tally.result();
  ContentionProfile profile;
  profile.sms = 1;
  profile.warps_per_sm = profile.warps_in_flight = static_cast<double>(test.queue.warps);
  profile.round_trip_ns = test.queue.round_trip_ns;
  profile.issue_red_ns = profile.issue_cas_ns = test.queue.issue_ns;
  profile.red_service_ns = profile.cas_service_ns = test.queue.service_ns;
  profile.slice_sectors_per_ns = profile.dram_bytes_per_ns = 1e9;
  profile.l2_bytes = 1e18;
  ScatterLoad load;
  load.updates = count.updates;
  load.rows_touched = count.rows_touched;
  load.max_multiplicity = count.max_multiplicity;
  load.serial_multiplicity = count.serial_multiplicity;
  load.hottest_rows = count.hottest_rows;
  load.close_updates = count.close_updates;
  load.width = 32;
  const bool cas = test.queue.kind == QueuedUpdate::kCompareAndSwap;
  load.path = cas ? InstructionPath::kCas : InstructionPath::kAtom;
  load.type = test.queue.lanes_per_word == 2 ? Dtype::kBf16 : Dtype::kFp32;
  return predict_contention(load, profile);
}

Case random_case(bool cas, std::uint64_t seed) {
  Case test;
  test.table = 4096;
  std::uint64_t n = 0;
  const auto draw = [&](double lo, double hi) {
    return lo + (hi - lo) * random_unit(random_bits(seed, n++));
  };
  test.queue.kind = cas ? QueuedUpdate::kCompareAndSwap : QueuedUpdate::kReduction;
  test.queue.warps = static_cast<std::int64_t>(draw(32, 400));
  test.queue.service_ns = draw(5, 40);
  test.queue.round_trip_ns = draw(50, 500);
  test.queue.issue_ns = draw(0.2, 5);
  test.queue.lanes_per_word = cas && draw(0, 1) < 0.5 ? 2 : 1;
  test.queue.seed = seed;
  // Half of the loads have one clearly hottest row, half are spread evenly over the table.
  const IndexDistribution distribution =
      draw(0, 1) < 0.5 ? IndexDistribution(ZipfRows{draw(1, 2.5)}) : IndexDistribution(UniformRows{});
  const std::int64_t updates = static_cast<std::int64_t>(draw(4000, 12000));
  auto stream = generate_indices({distribution, updates, test.table, 128, seed});
  test.rows.resize(static_cast<std::size_t>(updates));
  for (std::size_t filled = 0; filled < test.rows.size();)
    filled += stream->read(std::span(test.rows).subspan(filled));
  // As many changes as the closed form expects.
  test.queue.changing_share = 1;
  if (cas) test.queue.changing_share = closed_form(test).changing_share;
  return test;
}

TEST_CASE("closed form and event queue agree on random loads: reductions within 25%, CAS within 50%") {
  const bool ok = test::holds("closed form ~ event queue", 100, [] {
    const bool cas = *rc::gen::arbitrary<bool>();
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    const Case test = random_case(cas, seed);
    const double simulated = run_contention(test.rows, test.table, test.queue).time_ns;
    const ContentionPrediction predicted = closed_form(test);
    const double ratio = predicted.time_ns / simulated;
    RC_LOG() << "seed " << seed << " cas " << cas << " warps " << test.queue.warps << " service "
             << test.queue.service_ns << " trip " << test.queue.round_trip_ns << " issue "
             << test.queue.issue_ns << " lanes " << test.queue.lanes_per_word << " ratio " << ratio
             << " bound " << to_string(predicted.bound) << " collapsed " << predicted.collapsed << "\n";
    RC_ASSERT(std::max(ratio, 1 / ratio) < (cas ? 1.5 : 1.25));
  });
  CHECK(ok);
}

TEST_CASE("equally hot rows: one of them draws in all warps, as the closed form says within a factor of 2") {
  // 2 to 16 rows share 40,000 updates; evenly split, a row would see 400 / K contenders.
  for (const std::int64_t rows : {2, 4, 8, 16}) {
    Case test;
    test.table = rows;
    for (std::int64_t i = 0; i < 40000; ++i)
      test.rows.push_back(random_below(random_bits(17, static_cast<std::uint64_t>(i)), rows));
    test.queue = {QueuedUpdate::kCompareAndSwap, 400, 1, 20, 200, 1, 1, 1, 0, 0, 5};
    const ContentionRun run = run_contention(test.rows, rows, test.queue);
    const double ratio = closed_form(test).time_ns / run.time_ns;
    INFO(rows << " rows, ratio " << ratio);
    CHECK(run.most_waiting > 350);
    CHECK(ratio < 2);
    CHECK(ratio > 0.5);
  }
}

TEST_CASE("equally hot rows stop gathering where the event queue says, within a factor of 2") {
  // 256 bf16 elements on an H200: 257 rows in flight, 25 ns a row and line, 450 ns a round trip. Between 32
  // and 64 rows it takes the queue the whole run to gather.
  for (const std::int64_t rows : {2, 8, 16, 24, 32, 64, 80, 96, 128, 256, 512}) {
    Case test;
    test.table = rows;
    for (std::int64_t i = 0; i < 40000; ++i)
      test.rows.push_back(random_below(random_bits(17, static_cast<std::uint64_t>(i)), rows));
    test.queue = {QueuedUpdate::kCompareAndSwap, 257, 1.3, 25.3, 450, 2, 1, 1, 0, 0, 5};
    const double simulated = run_contention(test.rows, rows, test.queue).time_ns;
    const ContentionPrediction predicted = closed_form(test);
    INFO(rows << " rows, ratio " << predicted.time_ns / simulated);
    CHECK(predicted.collapsed == (rows <= 32));
    CHECK(predicted.time_ns < 2 * simulated);
    CHECK(simulated < 2 * predicted.time_ns);
  }
}

TEST_CASE("stretches and blocks mean the same in counting and in the model") {
  CHECK(kCloseBlock == static_cast<double>(kCollisionBlock));
}

TEST_CASE("the queue's arithmetic on loads that can be worked out by hand") {
  ContentionQueue queue;
  queue.warps = 4;
  queue.service_ns = 10;
  queue.round_trip_ns = 100;
  // One update: half a trip, a service, half a trip back.
  CHECK(run_contention(std::vector<std::int64_t>{0}, 1, queue).time_ns == 110);
  // Four on one address are served one after the other; on four, together.
  CHECK(run_contention(std::vector<std::int64_t>{0, 0, 0, 0}, 1, queue).time_ns == 140);
  CHECK(run_contention(std::vector<std::int64_t>{0, 1, 2, 3}, 4, queue).time_ns == 110);
  // A slice of 25 ns a request that all four share: the last starts after four slots.
  queue.slices = 1;
  queue.slice_ns = 25;
  CHECK(run_contention(std::vector<std::int64_t>{0, 1, 2, 3}, 4, queue).time_ns == 50 + 100 + 10 + 50);
  queue.slice_ns = 0;
  // Compare-and-swap alone: the load (a trip), then the swap. Two at once: the second fails once and retries.
  queue.kind = QueuedUpdate::kCompareAndSwap;
  const ContentionRun alone = run_contention(std::vector<std::int64_t>{0}, 1, queue);
  CHECK(alone.time_ns == 210);
  CHECK(alone.retries == 0);
  const ContentionRun two = run_contention(std::vector<std::int64_t>{0, 0}, 1, queue);
  CHECK(two.retries == 1);
  CHECK(two.requests == 3);
  CHECK(two.time_ns == 50 + 100 + 20 + 100 + 10 + 50);
  // Nothing changes: nobody retries.
  queue.changing_share = 0;
  CHECK(run_contention(std::vector<std::int64_t>{0, 0}, 1, queue).retries == 0);
  // n at once, one lane each: a pass for every success, n (n - 1) / 2 failures.
  queue.changing_share = 1;
  queue.warps = 7;
  queue.round_trip_ns = 0;
  CHECK(run_contention(std::vector<std::int64_t>(7, 0), 1, queue).retries == 21);
  CHECK(run_contention({}, 1, queue).time_ns == 0);
  CHECK_THROWS_AS(run_contention(std::vector<std::int64_t>{1}, 1, queue), InvalidParameter);
  queue.warps = 0;
  CHECK_THROWS_AS(run_contention({}, 1, queue), InvalidParameter);
  queue.warps = 1;
  CHECK_THROWS_AS(run_contention({}, -1, queue), InvalidParameter);
  queue.slices = std::int64_t{1} << 60;
  CHECK_THROWS_AS(run_contention({}, 1, queue), InvalidParameter);
}

}  // namespace contention_test

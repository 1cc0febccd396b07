// Ranges end where they say: the last value is taken, the next one is refused by its name.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <natten_sim/models/reuse/scan_reuse.hpp>
#include <natten_sim/models/scatter/contention.hpp>
#include <natten_sim/models/schedules/depth_monotone.hpp>
#include <natten_sim/models/tiles/cost.hpp>
#include <natten_sim/models/tiles/item_time.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>

#include "catch.hpp"
#include "refused.hpp"

namespace ranges_test {

using namespace natten_sim;
using test::refused;

constexpr std::int64_t kQuarter = std::int64_t{1} << 60;
constexpr std::int64_t kWhole = std::int64_t{1} << 62;

std::string refused_scan(const std::function<void(RepeatedScan&)>& change) {
  RepeatedScan scan{.bytes = 100, .block_bytes = 10, .passes = 2, .last_between_bytes = {}};
  change(scan);
  const std::string parameter = refused([&] { (void)missed_bytes(scan, 50); });
  CHECK(parameter == refused([&] { (void)mean_stack_distance_bytes(scan); }));
  return parameter;
}

TEST_CASE("a repeated scan has at least a byte, a block and a pass, and at most what adds up in 63 bits") {
  for (const std::int64_t value : {std::int64_t{1}, kQuarter}) {
    CHECK(refused_scan([&](RepeatedScan& scan) { scan.bytes = value; }).empty());
    CHECK(refused_scan([&](RepeatedScan& scan) { scan.block_bytes = value; }).empty());
  }
  for (const std::int64_t value : {std::int64_t{0}, kQuarter}) {
    CHECK(refused_scan([&](RepeatedScan& scan) { scan.between_bytes = value; }).empty());
    CHECK(refused_scan([&](RepeatedScan& scan) { scan.last_between_bytes = value; }).empty());
  }
  for (const std::int64_t value : {std::int64_t{0}, kQuarter + 1}) {
    CHECK(refused_scan([&](RepeatedScan& scan) { scan.bytes = value; }) == "bytes");
    CHECK(refused_scan([&](RepeatedScan& scan) { scan.block_bytes = value; }) == "block_bytes");
  }
  for (const std::int64_t value : {std::int64_t{-1}, kQuarter + 1}) {
    CHECK(refused_scan([&](RepeatedScan& scan) { scan.between_bytes = value; }) == "between_bytes");
    CHECK(refused_scan([&](RepeatedScan& scan) { scan.last_between_bytes = value; }) == "last_between_bytes");
  }
  CHECK(refused_scan([](RepeatedScan& scan) { scan.passes = 1; }).empty());
  CHECK(refused_scan([](RepeatedScan& scan) { scan.passes = kWhole; }).empty());
  CHECK(refused_scan([](RepeatedScan& scan) { scan.passes = 0; }) == "passes");
  CHECK(refused_scan([](RepeatedScan& scan) { scan.passes = kWhole + 1; }) == "passes");
  CHECK(refused_scan([](RepeatedScan& scan) { scan.first_pass = kWhole; }).empty());
  CHECK(refused_scan([](RepeatedScan& scan) { scan.first_pass = -1; }) == "first_pass");
  CHECK(refused_scan([](RepeatedScan& scan) { scan.first_pass = kWhole + 1; }) == "first_pass");
}

TEST_CASE("the misses of a scan are asked of any capacity from none on") {
  const RepeatedScan scan{.bytes = 100, .block_bytes = 10, .passes = 2, .last_between_bytes = {}};
  CHECK(missed_bytes(scan, 0) == 200);
  CHECK(missed_bytes(scan, kWhole) == 100);
  CHECK(refused([&] { (void)missed_bytes(scan, -1); }) == "capacity_bytes");
  CHECK(refused([&] { (void)missed_bytes(scan, kWhole + 1); }) == "capacity_bytes");
}

ContentionProfile any_profile() {
  ContentionProfile profile;
  profile.sms = 10;
  profile.dram_bytes_per_ns = profile.slice_sectors_per_ns = 100;
  profile.l2_bytes = 1e9;
  profile.warps_per_sm = 64;
  profile.warps_in_flight = 10;
  profile.round_trip_ns = profile.red_service_ns = profile.cas_service_ns = 10;
  return profile;
}

/// 100 updates of 50 rows of 32 elements, 10 of one row.
std::string refused_load(const std::function<void(ScatterLoad&)>& change) {
  ScatterLoad load;
  load.updates = 100;
  load.rows_touched = 50;
  load.max_multiplicity = load.serial_multiplicity = 10;
  load.width = 32;
  change(load);
  return refused([&] { (void)predict_contention(load, any_profile()); });
}

TEST_CASE("updates, rows and multiplicities of a scatter have to agree") {
  CHECK(refused_load([](ScatterLoad&) {}).empty());
  CHECK(refused_load([](ScatterLoad& load) { load = {}; }).empty());
  CHECK(refused_load([](ScatterLoad& load) { load.updates = -1; }) == "updates");
  CHECK(refused_load([](ScatterLoad& load) { load.rows_touched = 0; }) == "rows_touched");
  CHECK(refused_load([](ScatterLoad& load) { load.rows_touched = 1; }).empty());
  CHECK(refused_load([](ScatterLoad& load) { load.rows_touched = 100; }).empty());
  CHECK(refused_load([](ScatterLoad& load) { load.rows_touched = 101; }) == "rows_touched");
  CHECK(refused_load([](ScatterLoad& load) { load.max_multiplicity = 0; }) == "max_multiplicity");
  CHECK(refused_load([](ScatterLoad& load) { load.max_multiplicity = 1; }).empty());
  CHECK(refused_load([](ScatterLoad& load) {
          load.max_multiplicity = load.serial_multiplicity = 100;
        }).empty());
  CHECK(refused_load([](ScatterLoad& load) { load.max_multiplicity = 101; }) == "max_multiplicity");
  CHECK(refused_load([](ScatterLoad& load) { load.serial_multiplicity = 9; }) == "serial_multiplicity");
  CHECK(refused_load([](ScatterLoad& load) { load.serial_multiplicity = 100; }).empty());
  CHECK(refused_load([](ScatterLoad& load) { load.serial_multiplicity = 101; }) == "serial_multiplicity");
  CHECK(refused_load([](ScatterLoad& load) { load.hottest_rows = 0; }) == "hottest_rows");
  CHECK(refused_load([](ScatterLoad& load) { load.hottest_rows = 50; }).empty());
  CHECK(refused_load([](ScatterLoad& load) { load.hottest_rows = 51; }) == "hottest_rows");
  CHECK(refused_load([](ScatterLoad& load) { load = {}, load.hottest_rows = 2; }) == "hottest_rows");
  CHECK(refused_load([](ScatterLoad& load) { load = {}, load.max_multiplicity = 1; }) == "max_multiplicity");
}

TEST_CASE("the rows of a scatter, and what runs beside it, have their ranges") {
  CHECK(refused_load([](ScatterLoad& load) { load.width = 0; }) == "width");
  CHECK(refused_load([](ScatterLoad& load) { load.width = 1; }).empty());
  CHECK(refused_load([](ScatterLoad& load) { load.width = 1 << 24; }).empty());
  CHECK(refused_load([](ScatterLoad& load) { load.width = (1 << 24) + 1; }) == "width");
  for (std::int64_t lanes = 0; lanes <= 16; ++lanes) {
    const bool taken = lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8;
    CHECK(refused_load([&](ScatterLoad& load) { load.vector_width = lanes; }).empty() == taken);
  }
  CHECK(refused_load([](ScatterLoad& load) { load.prior_runs = -1; }) == "prior_runs");
  CHECK(refused_load([](ScatterLoad& load) { load.close_updates = -0.001; }) == "close_updates");
  CHECK(refused_load([](ScatterLoad& load) { load.close_updates = 1023.99; }).empty());
  CHECK(refused_load([](ScatterLoad& load) { load.close_updates = 1024; }) == "close_updates");
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double amount : {-0.001, infinite, std::nan("")}) {
    CHECK(refused_load([&](ScatterLoad& load) { load.streamed_bytes = amount; }) == "streamed_bytes");
    CHECK(refused_load([&](ScatterLoad& load) { load.slice_sectors = amount; }) == "slice_sectors");
    CHECK(refused_load([&](ScatterLoad& load) { load.warps_in_flight = amount; }) == "warps_in_flight");
    CHECK(refused_load([&](ScatterLoad& load) { load.resident_warps = amount; }) == "resident_warps");
    CHECK(refused_load([&](ScatterLoad& load) { load.issue_ns = amount; }) == "issue_ns");
  }
  CHECK(refused_load([](ScatterLoad& load) { load.resident_warps = 0; }) == "resident_warps");
  CHECK(refused_load([](ScatterLoad& load) {
          load.streamed_bytes = 0;
          load.slice_sectors = load.warps_in_flight = load.issue_ns = 0.0;
        }).empty());
}

TEST_CASE("a launch has one to three axes, a head and a worker, and items have one each") {
  const auto launched = [](std::size_t axes, std::int64_t heads, std::int64_t workers) {
    return refused([=] { (void)launch_work({}, axes, heads, workers); });
  };
  CHECK(launched(1, 1, 1).empty());
  CHECK(launched(3, 1, 1).empty());
  CHECK(launched(0, 1, 1) == "input");
  CHECK(launched(4, 1, 1) == "input");
  CHECK(launched(1, 0, 1) == "heads");
  CHECK(launched(1, 1, 0) == "workers");
  const auto timed = [](const ItemLaunch& launch) {
    return refused([&] { (void)item_time_ns(launch, {}); });
  };
  const ItemTiles item{.full = 1};
  CHECK(timed({.head = {item}}).empty());
  CHECK(timed({}) == "items");
  CHECK(timed({.head = {item}, .heads = 0}) == "heads");
  CHECK(timed({.head = {item}, .workers = 0}) == "workers");
}

TEST_CASE("an end-to-end speedup takes a share of 0 to 1 and at most all of its steps") {
  const auto speedup = [](double share, std::int64_t dense, std::int64_t steps, double operation) {
    return refused(
        [=] { (void)end_to_end_speedup({.share = share, .dense_steps = dense, .steps = steps}, operation); });
  };
  CHECK(speedup(0, 0, 1, 2).empty());
  CHECK(speedup(1, 10, 10, 2).empty());
  CHECK(speedup(-0.001, 0, 1, 2) == "attention_share");
  CHECK(speedup(1.001, 0, 1, 2) == "attention_share");
  CHECK(speedup(0.5, 0, 0, 2) == "steps");
  CHECK(speedup(0.5, -1, 10, 2) == "dense_steps");
  CHECK(speedup(0.5, 11, 10, 2) == "dense_steps");
  CHECK(speedup(0.5, 0, 1, 0) == "operation_speedup");
  // Half of the time is attention, a quarter of whose steps stays dense: 1 - 1/2 + 1/2 (1/4 + 3/4 / 3).
  CHECK(end_to_end_speedup({.share = 0.5, .dense_steps = 1, .steps = 4}, 3) == 1 / 0.75);
}

TEST_CASE("the first length that is read twice is asked of a worker and of any capacity from none on") {
  const auto asked = [](std::int64_t workers, std::int64_t capacity) {
    const SplitQProblem problem{.mask = make_mask({64}, {64}), .tiles = {{16}, {16}}};
    return refused([&] { (void)first_noncompulsory_seqlen(problem, workers, capacity); });
  };
  CHECK(asked(1, 0).empty());
  CHECK(asked(std::int64_t{1} << 31, kWhole).empty());
  CHECK(asked(0, 0) == "workers");
  CHECK(asked((std::int64_t{1} << 31) + 1, 0) == "workers");
  CHECK(asked(1, -1) == "capacity_bytes");
  CHECK(asked(1, kWhole + 1) == "capacity_bytes");
}

TEST_CASE("violations of depths are looked for in a schedule that is one, with a worker a chain") {
  const auto asked = [](const BackwardSchedule& schedule, const std::vector<std::int32_t>& worker) {
    const BackwardProblem problem{.mask = {1, 1, {TileWork::kFull}}};
    return refused([&] { (void)find_depth_violation(problem, schedule, worker); });
  };
  const BackwardSchedule whole{.chains = {{0, 0, {0}}}, .dq_order = {{0}}};
  CHECK(asked(whole, {0}).empty());
  CHECK(asked(whole, {}) == "worker");
  CHECK(asked(whole, {1}) == "worker");
  CHECK(asked(whole, {-1}) == "worker");
  BackwardSchedule without_order = whole;
  without_order.dq_order[0].clear();
  CHECK_FALSE(asked(without_order, {0}).empty());
  BackwardSchedule without_tile = whole;
  without_tile.chains[0].q_order.clear();
  CHECK_FALSE(asked(without_tile, {0}).empty());
}

}  // namespace ranges_test

// Launches of unequal items: who ends last, worked by hand, and costs found again from times.
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/item_time.hpp>

#include "catch.hpp"

namespace item_time_test {

using namespace natten_sim;

constexpr ItemCosts kCosts{100, 10, 2, 3};

TEST_CASE("round robin: the second of two workers has items 1 and 3, whatever they cost") {
  // Costs: 10+2*8, 10, 10+3*1, 10+2*1+3*2: worker 0 does 26+13 = 39, worker 1 does 10+18 = 28.
  ItemLaunch launch{{{8, 0}, {0, 0}, {0, 1}, {1, 2}}, 1, 2, Dispatch::kStatic};
  CHECK(last_worker(launch, kCosts) == WorkerLoad{2, 8, 1});
  CHECK(item_time_ns(launch, kCosts) == 100 + 39);
  // Two heads: twice of each.
  launch.heads = 2;
  CHECK(last_worker(launch, kCosts) == WorkerLoad{4, 16, 2});
}

TEST_CASE("whoever is free: the worker with the long first item gets no other") {
  // Worker 0 is busy until 26; worker 1 does 10 + 13 = 23, is free first and ends at 23 + 18 = 41.
  const ItemLaunch launch{{{8, 0}, {0, 0}, {0, 1}, {1, 2}}, 1, 2, Dispatch::kDynamic};
  CHECK(last_worker(launch, kCosts) == WorkerLoad{3, 1, 3});
  CHECK(item_time_ns(launch, kCosts) == 100 + 41);
}

TEST_CASE("workers without items end at once, and ties go to the smaller number") {
  const ItemLaunch launch{{{1, 0}, {0, 0}}, 1, 5, Dispatch::kDynamic};
  CHECK(last_worker(launch, kCosts) == WorkerLoad{1, 1, 0});
  const ItemLaunch even{{{1, 0}, {0, 1}}, 1, 2, Dispatch::kStatic};
  CHECK(last_worker(even, {0, 1, 5, 5}) == WorkerLoad{1, 1, 0});
}

TEST_CASE("pairs that attend and bytes from DRAM cost what they cost, beside the tiles") {
  // 100 of the launch, 10 of the item, 2 full tiles of 2, 1 partial tile of 3, 2.25 tiles of pairs of 4, 7
  // bytes of 2.
  const ItemLaunch launch{{{2, 1, 2.25}}, 1, 1, Dispatch::kStatic, 7};
  CHECK(item_time_ns(launch, {100, 10, 2, 3, 4, 2}) == 100 + 10 + 4 + 3 + 9 + 14);
  // Of two items without tiles the one whose pairs attend takes longer.
  const ItemLaunch two{{{0, 1, 0.25}, {0, 1, 1}}, 1, 2, Dispatch::kStatic};
  CHECK(last_worker(two, {0, 1, 1, 1, 1, 0}) == WorkerLoad{1, 0, 1, 1});
  // So does the one of whose two partial tiles one takes a second mask, of 5.
  const ItemLaunch masks{{{0, 2, 1}, {0, 2, 1, 1}}, 1, 2, Dispatch::kStatic};
  CHECK(last_worker(masks, {0, 1, 1, 1, 1, 0, 5}) == WorkerLoad{1, 0, 2, 1, 1});
  CHECK(item_time_ns(masks, {100, 10, 2, 3, 4, 2, 5}) == 100 + 10 + 6 + 4 + 5);
}

TEST_CASE("costs are found again from the times that they make") {
  const ItemCosts truth{5000, 2000, 1300, 1500, 400, 0.1, 90};
  std::vector<TimedItems> timed;
  for (int i = 0; i < 12; ++i) {
    ItemLaunch launch;
    launch.heads = 1 + i % 3;
    launch.workers = 7;
    launch.dispatch = i % 2 == 0 ? Dispatch::kStatic : Dispatch::kDynamic;
    for (int item = 0; item < 20 + 11 * i; ++item) {
      const int full = (item * 5 + i) % 9, partial = (item * i) % 4;
      launch.head.push_back(
          {full, partial, full + 0.125 * ((item + i) % 7) * partial, partial * (item % 3) / 2});
    }
    launch.dram_bytes = 1e5 * ((i * 7) % 5);
    const double time = item_time_ns(launch, truth);
    timed.push_back({std::move(launch), time});
  }
  const ItemCosts found = fit_item_costs(timed);
  CHECK(std::abs(found.launch / truth.launch - 1) < 1e-6);
  CHECK(std::abs(found.item / truth.item - 1) < 1e-6);
  CHECK(std::abs(found.full / truth.full - 1) < 1e-6);
  CHECK(std::abs(found.partial / truth.partial - 1) < 1e-6);
  CHECK(std::abs(found.attending / truth.attending - 1) < 1e-6);
  CHECK(std::abs(found.dram_byte / truth.dram_byte - 1) < 1e-6);
  CHECK(std::abs(found.second_mask / truth.second_mask - 1) < 1e-6);
}

TEST_CASE("a launch without items or workers, and fewer times than costs, are refused") {
  CHECK_THROWS_AS(last_worker({}, kCosts), InvalidParameter);
  CHECK_THROWS_AS(last_worker({{{1, 0}}, 1, 0, {}}, kCosts), InvalidParameter);
  CHECK_THROWS_AS(last_worker({{{1, 0}}, 0, 1, {}}, kCosts), InvalidParameter);
  const std::vector<TimedItems> six(6, {{{{1, 0}}, 1, 1, {}}, 10});
  CHECK_THROWS_AS(fit_item_costs(six), InvalidParameter);
}

}  // namespace item_time_test

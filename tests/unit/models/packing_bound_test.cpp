// How chains pack on workers: a lower bound against every way to pack them.
#include <algorithm>
#include <numeric>
#include <random>

#include <natten_sim/models/schedules/packing_bound.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace packing_bound_test {

using namespace natten_sim;

/// Least load of the busiest worker, by trying every assignment.
class EveryPacking {
 public:
  EveryPacking(std::vector<std::int64_t> lengths, std::size_t workers)
      : lengths_(std::move(lengths)), loads_(workers, 0) {
    best_ = std::accumulate(lengths_.begin(), lengths_.end(), std::int64_t{0});
    place(0);
  }
  [[nodiscard]] std::int64_t best() const { return best_; }

 private:
  void place(std::size_t chain) {
    if (chain == lengths_.size()) {
      best_ = std::min(best_, *std::max_element(loads_.begin(), loads_.end()));
      return;
    }
    for (std::int64_t& load : loads_) {
      load += lengths_[chain];
      if (load < best_ || chain == 0) place(chain + 1);
      load -= lengths_[chain];
    }
  }

  std::vector<std::int64_t> lengths_;
  std::vector<std::int64_t> loads_;
  std::int64_t best_ = 0;
};

TEST_CASE("the packing bound never exceeds the best of all packings, and is rarely below it") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  int exact = 0;
  constexpr int kCases = 600;
  for (int i = 0; i < kCases; ++i) {
    const auto workers = static_cast<std::size_t>(1 + below(4));
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(1 + below(8)));
    std::vector<ChainCount> chains;
    for (std::int64_t& length : lengths) {
      length = (1 + below(12)) * (i % 3 + 1);
      chains.push_back({length, 1});
    }
    const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    const std::int64_t bound = packing_bound(chains, static_cast<std::int64_t>(workers), 1);
    const std::int64_t best = EveryPacking(lengths, workers).best();
    CAPTURE(i, workers, lengths, bound, best);
    REQUIRE(bound <= best);
    REQUIRE(bound * static_cast<std::int64_t>(workers) >= total);
    REQUIRE(bound >= *std::max_element(lengths.begin(), lengths.end()));
    exact += bound == best ? 1 : 0;
  }
  CHECK(exact > kCases / 2);  // a bound that never says more than the mean would not be worth its time
}

TEST_CASE("three halves do not fit on two workers, whatever their mean says") {
  // Of three chains of 5, one worker takes two: 10, where 15 / 2 is 8.
  CHECK(packing_bound({{5, 3}}, 2, 8) == 10);
  // 7 + 5 on each of two workers; the third pair has to go on one of them.
  CHECK(packing_bound({{7, 2}, {5, 2}}, 2, 1) == 12);
  CHECK(packing_bound({{6, 1000}}, 1000, 1) == 6);
  CHECK(packing_bound({{6, 1001}}, 1000, 1) == 12);
}

TEST_CASE("288 chains of a 3-D neighborhood take 54 tasks on one of 132 workers, not the mean of 51") {
  // 16x24x24 tokens, window 6x12x12, tiles 4x4x8: chains of 3x3x2 .. 5x3x3 tasks, four heads of each. With
  // 53 tasks at most, 45 leaves 8 unused and 36 takes only 12 or 16 beside it; the rest no longer fits.
  const std::vector<ChainCount> chains = {{12, 32}, {16, 32}, {18, 48}, {20, 32}, {24, 48},
                                          {27, 16}, {30, 48}, {36, 16}, {45, 16}};
  CHECK(packing_bound(chains, 132, 51) == 54);
}

TEST_CASE("a problem too large to be worth the time keeps the bound that was given") {
  std::vector<ChainCount> chains;
  for (std::int64_t length = 1001; length < 1400; ++length) chains.push_back({length, 3});
  CHECK(packing_bound(chains, 100, 17000) == 17000);
  CHECK(packing_bound({}, 4, 3) == 3);
}

}  // namespace packing_bound_test

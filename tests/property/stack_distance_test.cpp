// Stack distances by the tree against an obvious list, the curve against caches, samples against the whole.
#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/reuse/sampled_stack_distance.hpp>
#include <natten_sim/sim/reuse/set_associative_cache.hpp>
#include <natten_sim/sim/reuse/stack_distance.hpp>

#include "catch.hpp"

namespace stack_distance_test {

using namespace natten_sim;

struct Access {
  std::int64_t block, bytes;
};

/// Distances by walking a list, most recent first.
class ListDistances {
 public:
  std::optional<std::int64_t> access(std::int64_t block, std::int64_t bytes) {
    std::int64_t distance = bytes;
    auto at = stack_.begin();
    for (; at != stack_.end() && at->block != block; ++at) distance += at->bytes;
    std::optional<std::int64_t> result;
    if (at != stack_.end()) {
      result = distance;
      stack_.erase(at);
    }
    stack_.push_front({block, bytes});
    return result;
  }

 private:
  std::list<Access> stack_;
};

std::vector<Access> random_trace(std::mt19937_64& random, std::size_t length, std::int64_t blocks) {
  // A mixture of uniform, recent and streaming accesses; a block may come back with another size.
  std::vector<Access> trace;
  std::int64_t stream = 0;
  for (std::size_t i = 0; i < length; ++i) {
    std::int64_t block = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(blocks));
    if (random() % 3 == 0 && !trace.empty())
      block = trace[trace.size() - 1 - random() % std::min<std::size_t>(trace.size(), 20)].block;
    if (random() % 3 == 0) block = stream++ % blocks;
    trace.push_back(
        {block, random() % 50 == 0 ? static_cast<std::int64_t>(random() % 9 + 1) : 1 + block % 7});
  }
  return trace;
}

TEST_CASE("distances equal those of an obvious list on random traces of every size") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto blocks = static_cast<std::int64_t>(seed < 30 ? 1 + random() % 40 : 1 + random() % 3000);
    StackDistances distances(seed % 2 == 0 ? blocks : 0);
    ListDistances list;
    for (const Access& access : random_trace(random, 6000, blocks)) {
      INFO("seed " << seed << ", block " << access.block);
      REQUIRE(distances.access(access.block, access.bytes) == list.access(access.block, access.bytes));
    }
  }
}

TEST_CASE("blocks of one size are counted exactly, before and after a block of another size comes") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t blocks = 1 + random() % 2000;
    const auto other = static_cast<int>(random() % 9000);  // beyond 6000: never
    StackDistances distances(seed % 2 == 0 ? static_cast<std::int64_t>(blocks) : 0);
    ListDistances list;
    for (int i = 0; i < 6000; ++i) {
      const auto block = static_cast<std::int64_t>(random() % blocks);
      const std::int64_t bytes = i == other ? 7 : 32;
      INFO("seed " << seed << ", access " << i);
      REQUIRE(distances.access(block, bytes) == list.access(block, bytes));
    }
  }
}

TEST_CASE(
    "a profile counts what a map counts: dense distances, sparse ones, odd ones behind even ones, many at "
    "once") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    ReuseProfile profile;
    std::map<std::int64_t, std::int64_t> counts;
    std::int64_t all = 0;
    for (int i = 0; i < 4000; ++i) {
      const auto part = static_cast<std::uint64_t>(i) * 4 / 4000;  // units become smaller: 2^12, 2^8, 2^4, 1
      const std::uint64_t unit = std::uint64_t{1} << (12 - 4 * part);
      const std::uint64_t most = seed % 3 == 0 ? 100 : seed % 3 == 1 ? 5000 : std::uint64_t{1} << 40;
      const auto distance = static_cast<std::int64_t>((1 + random() % most) * unit);
      const std::int64_t weight = random() % 50 == 0 ? std::int64_t{3'000'000'000} : 1;
      profile.add(distance, weight);
      counts[distance] += weight;
      all += weight;
    }
    INFO("seed " << seed);
    const auto points = profile.distances();
    REQUIRE(points.size() == counts.size());
    std::size_t at = 0;
    std::int64_t within = 0;
    for (const auto& [distance, count] : counts) {
      REQUIRE(points[at].bytes == distance);
      REQUIRE(points[at++].count == count);
      const bool asked = at % 97 == 1;
      if (asked) CHECK(profile.misses(distance - 1) == all - within);
      within += count;
      if (asked) CHECK(profile.misses(distance) == all - within);
    }
  }
}

TEST_CASE("the tree stays exact over many levels and compactions") {
  // Cyclic: every reuse has the same distance. 300,000 blocks need five levels.
  constexpr std::int64_t kBlocks = 300'000;
  StackDistances distances;
  for (int pass = 0; pass < 4; ++pass) {
    bool exact = true;
    for (std::int64_t block = 0; block < kBlocks; ++block) {
      const auto distance = distances.access(block, 3);
      exact = exact && (pass == 0 ? !distance : distance == 3 * kBlocks);
    }
    CHECK(exact);
  }
  CHECK(distances.distinct_blocks() == kBlocks);
}

TEST_CASE("one pass gives the misses of every LRU cache") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    const std::int64_t blocks = 1 + static_cast<std::int64_t>(random() % 60);
    std::vector<Access> trace = random_trace(random, 2000, blocks);
    StackDistances distances;
    ReuseProfile profile;
    for (const Access& access : trace) profile.add(distances.access(access.block));
    const auto curve = profile.miss_curve();
    for (std::int64_t capacity = 1; capacity <= blocks + 1; ++capacity) {
      if (capacity > 64) break;
      SetAssociativeCache cache({.sets = 1, .ways = static_cast<std::int32_t>(capacity)});
      for (const Access& access : trace) (void)cache.access(static_cast<std::uint64_t>(access.block));
      INFO("seed " << seed << ", capacity " << capacity);
      CHECK(profile.misses(capacity) == cache.misses());
      std::int64_t by_curve = 0;
      for (const auto& point : curve) {
        if (point.bytes <= capacity) by_curve = point.count;
      }
      CHECK(by_curve == cache.misses());
    }
    CHECK(profile.accesses() == 2000);
    std::int64_t counted = profile.cold();
    for (const auto& bucket : profile.histogram()) counted += bucket.count;
    CHECK(counted == 2000);
  }
}

TEST_CASE("a sample of everything is the whole, and a sample's error covers what it misses") {
  std::mt19937_64 random(5);
  std::vector<std::int64_t> trace;
  for (int i = 0; i < 400'000; ++i) {  // skewed: half of the accesses to a twentieth of the blocks
    const std::uint64_t range = random() % 2 == 0 ? 1000 : 20'000;
    trace.push_back(static_cast<std::int64_t>(random() % range));
  }
  SampledStackDistances whole(1.0);
  StackDistances distances;
  ReuseProfile profile;
  for (const std::int64_t block : trace) {
    whole.access(static_cast<std::uint64_t>(block));
    profile.add(distances.access(block));
  }
  const std::vector<std::int64_t> capacities = {100, 1000, 5000, 15'000};
  const auto exact = [&](std::int64_t capacity) {
    return static_cast<double>(profile.misses(capacity)) / static_cast<double>(trace.size());
  };
  for (const std::int64_t capacity : capacities) {
    CHECK(whole.miss_ratio(capacity).miss_ratio == exact(capacity));
    CHECK(whole.miss_ratio(capacity).standard_error == 0);
  }
  constexpr int kSamples = 40;
  std::vector<int> covered(capacities.size(), 0);
  for (int seed = 0; seed < kSamples; ++seed) {
    SampledStackDistances sample(0.05, static_cast<std::uint64_t>(seed));
    for (const std::int64_t block : trace) sample.access(static_cast<std::uint64_t>(block));
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      const MissRatioEstimate estimate = sample.miss_ratio(capacities[i]);
      CHECK(estimate.sampled_accesses < 60'000);
      CHECK(estimate.standard_error < 0.05);
      if (std::abs(estimate.miss_ratio - exact(capacities[i])) <= 3 * estimate.standard_error) ++covered[i];
    }
  }
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    INFO("capacity " << capacities[i] << ", exact " << exact(capacities[i]));
    CHECK(covered[i] >= kSamples * 9 / 10);
  }
}

TEST_CASE("distances and samples refuse what they cannot hold") {
  StackDistances distances;
  CHECK_THROWS_AS(distances.access(-1), InvalidParameter);
  CHECK_THROWS_AS(distances.access(std::int64_t{1} << 28), InvalidParameter);
  CHECK_THROWS_AS(distances.access(0, 0), InvalidParameter);
  CHECK_THROWS_AS(SampledStackDistances(0.0), InvalidParameter);
  CHECK_THROWS_AS(SampledStackDistances(1.5), InvalidParameter);
  CHECK(SampledStackDistances(0.5).miss_ratio(1).standard_error == 1);  // nothing seen, nothing known
  CHECK(ReuseProfile().mean_bytes() == std::nullopt);
  CHECK(ReuseProfile().histogram().empty());
}

}  // namespace stack_distance_test

// Replacement policies against plain lists of ways, on random lines; and samples that caught nothing.
#include <cstdint>
#include <vector>

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/reuse/sampled_stack_distance.hpp>
#include <natten_sim/sim/reuse/set_associative_cache.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"

namespace replacement_test {

using namespace natten_sim;

/// One set as its definition has it.
struct PlainSet {
  Replacement replacement;
  std::vector<std::uint64_t> lines;
  std::vector<std::int64_t> stamps = {};
  std::vector<bool> marked = {};  // not-recent: used since all were
  std::vector<int> toward = {};   // tree: 0 left, 1 right, of inner nodes 1 .. ways - 1

  PlainSet(Replacement policy, std::size_t ways)
      : replacement(policy), lines(ways, 0), stamps(ways, -1), marked(ways, false), toward(2 * ways, 0) {}

  std::size_t victim() const {
    for (std::size_t way = 0; way < lines.size(); ++way) {
      if (lines[way] == 0) return way;
    }
    std::size_t chosen = 0;
    if (replacement == Replacement::kLru || replacement == Replacement::kFifo) {
      for (std::size_t way = 1; way < lines.size(); ++way) {
        if (stamps[way] < stamps[chosen]) chosen = way;
      }
    } else if (replacement == Replacement::kNotRecent) {
      while (marked[chosen]) ++chosen;
    } else {
      std::size_t node = 1;
      for (std::size_t width = lines.size(); width > 1; width /= 2) {
        chosen += toward[node] == 1 ? width / 2 : 0;
        node = 2 * node + static_cast<std::size_t>(toward[node]);
      }
    }
    return chosen;
  }

  void use(std::size_t way, bool fetched, std::int64_t now) {
    if (replacement != Replacement::kFifo || fetched) stamps[way] = now;
    marked[way] = true;
    bool all = true;
    for (const bool each : marked) all = all && each;
    if (all) marked.assign(marked.size(), false), marked[way] = true;
    std::size_t node = 1, begin = 0;
    for (std::size_t width = lines.size(); width > 1; width /= 2) {
      const bool right = way >= begin + width / 2;
      toward[node] = right ? 0 : 1;  // away from what was used
      node = 2 * node + (right ? 1u : 0u);
      begin += right ? width / 2 : 0;
    }
  }

  bool access(std::uint64_t line, std::int64_t now) {
    for (std::size_t way = 0; way < lines.size(); ++way) {
      if (lines[way] != line) continue;
      use(way, false, now);
      return true;
    }
    const std::size_t way = victim();
    lines[way] = line;
    use(way, true, now);
    return false;
  }
};

TEST_CASE("every replacement policy hits and misses as a plain list of ways does") {
  for (const Replacement replacement :
       {Replacement::kLru, Replacement::kFifo, Replacement::kTreePlru, Replacement::kNotRecent}) {
    for (const std::int32_t ways : {1, 2, 4, 16, 64}) {
      if (ways == 1 && replacement == Replacement::kNotRecent) continue;  // marks of one way say nothing
      SetAssociativeCache cache({.sets = 1, .ways = ways, .replacement = replacement});
      PlainSet plain(replacement, static_cast<std::size_t>(ways));
      INFO(to_string(replacement) << ", " << ways << " ways");
      for (std::int64_t i = 0; i < 3000; ++i) {
        const auto line = static_cast<std::uint64_t>(
            1 + random_below(random_bits(31, static_cast<std::uint64_t>(i)), ways + ways / 2 + 1));
        REQUIRE(cache.access(line) == plain.access(line, i));
      }
    }
  }
}

TEST_CASE("a sample that caught nothing knows nothing, and one of everything has all distances and first touches") {
  const MissRatioEstimate nothing = SampledStackDistances(0.5).miss_ratio(1);
  CHECK(nothing.miss_ratio == 0);
  CHECK(nothing.standard_error == 1);
  CHECK(nothing.sampled_accesses == 0);
  CHECK_THROWS(SampledStackDistances(0.5).miss_ratio(-1));
  SampledStackDistances whole(1.0);
  for (const std::uint64_t block : {0u, 1u, 2u, 0u, 1u, 2u}) whole.access(block);
  const ReuseProfile pooled = whole.pooled();
  CHECK(pooled.accesses() == 6);
  CHECK(pooled.cold() == 3);
  CHECK(pooled.misses(2) == 6);  // three blocks do not fit two
  CHECK(pooled.misses(3) == 3);
}

TEST_CASE("without the only block that was caught an estimate knows no miss") {
  // Some block is in the sample of its seed. All of the sample misses; so it does without any of the seven
  // groups that have nothing, and without the block's own group there is nothing left that could miss.
  std::uint64_t block = 0;
  const auto sample_of = [](std::uint64_t number) {
    SampledStackDistances distances(0.5);
    distances.access(number);
    return distances;
  };
  while (sample_of(block).sampled_blocks() == 0) ++block;
  const MissRatioEstimate estimate = sample_of(block).miss_ratio(1);
  CHECK(estimate.sampled_accesses == 1);
  CHECK(estimate.miss_ratio == 1);
  // Seven ratios of 1 and one of 0: their squares about 7/8 add up to 7/8, of which the jackknife takes 7/8.
  CHECK(std::abs(estimate.standard_error - 7.0 / 8) < 1e-12);
}

TEST_CASE("a profile counts accesses of distance 0 too") {
  ReuseProfile profile;
  profile.add(0, 3);
  profile.add(4, 2);
  const std::vector<ReuseProfile::Point> points = profile.distances();
  REQUIRE(points.size() == 2);
  CHECK(points[0].bytes == 0);
  CHECK(points[0].count == 3);
  CHECK(points[1].bytes == 4);
  CHECK(points[1].count == 2);
  CHECK(profile.misses(0) == 2);
}

TEST_CASE("a sequence without keys, or without queries, is refused, also where the sums add up") {
  CHECK_THROWS(varlen_mask({8, 8, 4, 4}, {{4, 8}, {4, 0}}, {}));
  CHECK_THROWS(varlen_mask({8, 8, 4, 4}, {{8, 4}, {0, 4}}, {}));
  CHECK_NOTHROW(varlen_mask({8, 8, 4, 4}, {{4, 4}, {4, 4}}, {}));
}

}  // namespace replacement_test

// Relations between caches and traffic of problems that differ in one known way.
#include <algorithm>
#include <vector>

#include <rapidcheck.h>

#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/models/reuse/scan_reuse.hpp>
#include <natten_sim/sim/reuse/set_associative_cache.hpp>
#include <natten_sim/sim/reuse/stack_distance.hpp>

#include "catch.hpp"
#include "property/holds.hpp"
#include "random.hpp"

namespace metamorphic_reuse_test {

using namespace natten_sim;

using natten_sim::test::pick;

/// Blocks, of which some are far more popular than others.
std::vector<std::int64_t> random_trace() {
  std::vector<std::int64_t> trace;
  const std::int64_t blocks = pick(1, 30);
  for (std::int64_t length = pick(1, 200); length > 0; --length)
    trace.push_back(pick(0, pick(0, 1) == 0 ? blocks - 1 : blocks / 4));
  return trace;
}

ReuseProfile profile_of(const std::vector<std::int64_t>& trace) {
  StackDistances distances;
  ReuseProfile profile;
  for (const std::int64_t block : trace) profile.add(distances.access(block));
  return profile;
}

std::int64_t misses_of(const std::vector<std::int64_t>& trace, const SetAssociativeGeometry& geometry) {
  SetAssociativeCache cache(geometry);
  for (const std::int64_t block : trace) cache.access(static_cast<std::uint64_t>(block));
  return cache.misses();
}

TEST_CASE("a larger LRU cache never misses more") {
  REQUIRE(natten_sim::test::holds("inclusion", 3000, [] {
    const ReuseProfile profile = profile_of(random_trace());
    for (std::int64_t capacity = 1; capacity < 40; ++capacity)
      RC_ASSERT(profile.misses(capacity + 1) <= profile.misses(capacity));
  }));
}

TEST_CASE("one set of LRU ways misses what stack distances say") {
  REQUIRE(natten_sim::test::holds("Mattson", 3000, [] {
    const auto trace = random_trace();
    const auto ways = static_cast<std::int32_t>(pick(1, 40));
    RC_ASSERT(misses_of(trace, {.sets = 1, .ways = ways}) == profile_of(trace).misses(ways));
  }));
}

TEST_CASE("an access that is repeated at once hits, under every replacement") {
  REQUIRE(natten_sim::test::holds("doubled accesses", 3000, [] {
    const auto trace = random_trace();
    std::vector<std::int64_t> doubled;
    for (const std::int64_t block : trace) doubled.insert(doubled.end(), 2, block);
    const auto ways = static_cast<std::int32_t>(1 << pick(0, 4));
    for (const Replacement replacement :
         {Replacement::kLru, Replacement::kFifo, Replacement::kTreePlru, Replacement::kNotRecent}) {
      const SetAssociativeGeometry geometry = {.sets = pick(1, 4), .ways = ways, .replacement = replacement};
      RC_ASSERT(misses_of(trace, geometry) == misses_of(doubled, geometry));
    }
  }));
}

TEST_CASE("names of blocks do not matter to stack distances") {
  REQUIRE(natten_sim::test::holds("blocks renamed", 3000, [] {
    auto trace = random_trace();
    const ReuseProfile before = profile_of(trace);
    for (std::int64_t& block : trace) block = 29 - block % 30 + 30 * (block / 30);
    const ReuseProfile after = profile_of(trace);
    RC_ASSERT(before.cold() == after.cold());
    RC_ASSERT(before.mean_bytes() == after.mean_bytes());
    for (std::int64_t capacity = 0; capacity < 32; ++capacity)
      RC_ASSERT(before.misses(capacity) == after.misses(capacity));
  }));
}

TEST_CASE("a trace that is run twice has no more cold accesses") {
  REQUIRE(natten_sim::test::holds("trace twice", 3000, [] {
    auto trace = random_trace();
    const ReuseProfile once = profile_of(trace);
    trace.insert(trace.end(), trace.begin(), trace.end());
    const ReuseProfile twice = profile_of(trace);
    RC_ASSERT(twice.cold() == once.cold());
    RC_ASSERT(twice.accesses() == 2 * once.accesses());
    RC_ASSERT(twice.misses(1000) == once.cold());
  }));
}

RepeatedScan random_scan() {
  RepeatedScan scan;
  scan.bytes = pick(1, 5000);
  scan.block_bytes = pick(1, 64);
  scan.passes = pick(1, 9);
  return scan;
}

TEST_CASE("a sawtooth never misses more than a cyclic scan, nor less than any order can") {
  REQUIRE(natten_sim::test::holds("fewest <= sawtooth <= cyclic", 3000, [] {
    RepeatedScan scan = random_scan();
    scan.bytes = scan.block_bytes * pick(1, 80);
    const std::int64_t capacity = pick(0, 6000);
    const std::int64_t cyclic = missed_bytes(scan, capacity);
    scan.order = KvOrder::kSawtooth;
    const std::int64_t sawtooth = missed_bytes(scan, capacity);
    RC_ASSERT(sawtooth <= cyclic);
    const std::int64_t lost = std::max<std::int64_t>(0, scan.bytes - capacity / scan.block_bytes * scan.block_bytes);
    RC_ASSERT(sawtooth == scan.bytes + (scan.passes - 1) * lost);
  }));
}

TEST_CASE("a scan misses no more with a larger cache, and no less with another pass") {
  REQUIRE(natten_sim::test::holds("capacity and passes", 3000, [] {
    RepeatedScan scan = random_scan();
    if (pick(0, 1) == 0) scan.order = KvOrder::kSawtooth;
    scan.between_bytes = pick(0, 500);
    const std::int64_t capacity = pick(0, 6000);
    const std::int64_t misses = missed_bytes(scan, capacity);
    RC_ASSERT(missed_bytes(scan, 2 * capacity + 1) <= misses);
    ++scan.passes;
    RC_ASSERT(missed_bytes(scan, capacity) >= misses);
  }));
}

TEST_CASE("more bytes between the passes never help") {
  REQUIRE(natten_sim::test::holds("between", 3000, [] {
    RepeatedScan scan = random_scan();
    if (pick(0, 1) == 0) scan.order = KvOrder::kSawtooth;
    const std::int64_t capacity = pick(0, 6000);
    scan.between_bytes = pick(0, 500);
    const std::int64_t misses = missed_bytes(scan, capacity);
    scan.between_bytes += pick(1, 500);
    RC_ASSERT(missed_bytes(scan, capacity) >= misses);
  }));
}

SplitQProblem random_attention() {
  SplitQProblem problem;
  AxisMask axis;
  axis.length = pick(1, 300);
  axis.window = pick(0, 1) == 0 ? axis.length : pick(1, axis.length);
  axis.causal = pick(0, 1) == 0;
  problem.mask = {axis};
  problem.tiles = {{pick(1, 64)}, {pick(1, 64)}};
  problem.sizes.head_dim = problem.sizes.head_dim_value = 16 * pick(1, 8);
  return problem;
}

TEST_CASE("sectors grow with heads and batch as their product") {
  REQUIRE(natten_sim::test::holds("heads x batch", 3000, [] {
    SplitQProblem problem = random_attention();
    const AttentionTraffic one = attention_traffic(problem);
    problem.sizes.heads = problem.sizes.heads_kv = pick(1, 8);
    problem.sizes.batch = pick(1, 4);
    const std::int64_t times = problem.sizes.heads * problem.sizes.batch;
    const AttentionTraffic many = attention_traffic(problem);
    RC_ASSERT(many.sectors.total == times * one.sectors.total);
    RC_ASSERT(many.cold.total == times * one.cold.total);
  }));
}

TEST_CASE("heads that share K and V load as much, and less of it is cold") {
  REQUIRE(natten_sim::test::holds("groups of heads", 3000, [] {
    SplitQProblem problem = random_attention();
    const std::int64_t group = pick(1, 4);
    problem.sizes.heads = problem.sizes.heads_kv = group * pick(1, 3);
    const AttentionTraffic apart = attention_traffic(problem);
    problem.sizes.heads_kv /= group;
    const AttentionTraffic shared = attention_traffic(problem);
    RC_ASSERT(shared.sectors == apart.sectors);
    RC_ASSERT(shared.cold.q == apart.cold.q);
    RC_ASSERT(group * shared.cold.k == apart.cold.k);
    RC_ASSERT(group * shared.cold.v == apart.cold.v);
  }));
}

TEST_CASE("every sector is loaded at least once, Q and O exactly once where rows are whole sectors") {
  REQUIRE(natten_sim::test::holds("cold <= all", 3000, [] {
    const AttentionTraffic traffic = attention_traffic(random_attention());
    RC_ASSERT(traffic.sectors.q == traffic.cold.q);
    RC_ASSERT(traffic.sectors.o == traffic.cold.o);
    RC_ASSERT(traffic.sectors.k >= traffic.cold.k);
    RC_ASSERT(traffic.sectors.v >= traffic.cold.v);
  }));
}

TEST_CASE("elements of twice the bytes make twice the sectors") {
  REQUIRE(natten_sim::test::holds("element bytes", 3000, [] {
    SplitQProblem problem = random_attention();
    const AttentionTraffic one = attention_traffic(problem);
    problem.sizes.element_bytes *= 2;
    RC_ASSERT(attention_traffic(problem).sectors.total == 2 * one.sectors.total);
  }));
}

}  // namespace metamorphic_reuse_test

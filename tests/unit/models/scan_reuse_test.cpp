// Closed forms of repeated scans against an LRU list, and the lower bound against the optimum of all orders.
#include <algorithm>
#include <limits>
#include <list>
#include <numeric>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/models/reuse/scan_reuse.hpp>

#include "catch.hpp"

namespace scan_reuse_test {

using namespace natten_sim;

struct Replay {
  std::int64_t missed = 0;
  double distances = 0;
  std::int64_t reused = 0;
};

/// The scan by the definition: a list of blocks, most recent first, with single-use blocks between passes.
Replay replay(const RepeatedScan& scan, std::int64_t capacity) {
  struct Entry {
    std::int64_t block, bytes;
  };
  std::list<Entry> stack;
  Replay result;
  std::int64_t fresh = -1;
  const std::int64_t blocks = (scan.bytes + scan.block_bytes - 1) / scan.block_bytes;
  for (std::int64_t pass = 0; pass < scan.passes; ++pass) {
    if (pass > 0) {
      const bool last = pass + 1 == scan.passes;
      const std::int64_t between =
          last && scan.last_between_bytes ? *scan.last_between_bytes : scan.between_bytes;
      for (std::int64_t i = 0; i < between; ++i) stack.push_front({fresh--, 1});
    }
    const bool down = scan.order == KvOrder::kDescending ||
                      (scan.order == KvOrder::kSawtooth && (scan.first_pass + pass) % 2 != 0);
    for (std::int64_t i = 0; i < blocks; ++i) {
      const std::int64_t block = down ? blocks - 1 - i : i;
      const std::int64_t bytes = std::min(scan.block_bytes, scan.bytes - block * scan.block_bytes);
      std::int64_t distance = bytes;
      auto at = stack.begin();
      for (; at != stack.end() && at->block != block; ++at) distance += at->bytes;
      if (at == stack.end()) {
        result.missed += bytes;
      } else {
        stack.erase(at);
        if (distance > capacity) result.missed += bytes;
        result.distances += static_cast<double>(distance) * static_cast<double>(bytes);
        result.reused += bytes;
      }
      stack.push_front({block, bytes});
    }
  }
  return result;
}

TEST_CASE("closed forms of cyclic, sawtooth and descending scans equal an LRU list") {
  int scans = 0;
  for (std::int64_t bytes = 1; bytes <= 11; ++bytes) {
    for (std::int64_t block = 1; block <= 5; ++block) {
      for (std::int64_t passes = 1; passes <= 4; ++passes) {
        for (const std::int64_t between : {0, 3}) {
          for (const std::int64_t last : {-1, 1}) {
            for (const KvOrder order : {KvOrder::kCyclic, KvOrder::kSawtooth, KvOrder::kDescending}) {
              for (const std::int64_t first : {0, 1}) {
                RepeatedScan scan{bytes, block, passes, order, between, std::nullopt, first};
                if (last >= 0) scan.last_between_bytes = last;
                for (std::int64_t capacity = 0; capacity <= 16; ++capacity) {
                  INFO(bytes << " B of " << block << ", " << passes << " passes " << to_string(order)
                             << " from " << first << ", between " << between << "/" << last << ", C "
                             << capacity);
                  const Replay exact = replay(scan, capacity);
                  REQUIRE(missed_bytes(scan, capacity) == exact.missed);
                  const auto mean = mean_stack_distance_bytes(scan);
                  REQUIRE(mean.has_value() == (exact.reused > 0));
                  if (mean)
                    REQUIRE(std::abs(*mean * static_cast<double>(exact.reused) - exact.distances) < 1e-6);
                  ++scans;
                }
              }
            }
          }
        }
      }
    }
  }
  CHECK(scans > 50'000);
}

TEST_CASE("reversing every second pass nearly halves the mean stack distance") {
  const RepeatedScan cyclic{.bytes = 1000, .block_bytes = 1, .passes = 9, .order = KvOrder::kCyclic};
  RepeatedScan sawtooth = cyclic;
  sawtooth.order = KvOrder::kSawtooth;
  CHECK(*mean_stack_distance_bytes(cyclic) == 1000.0);
  CHECK(*mean_stack_distance_bytes(sawtooth) == 500.5);  // (N + b) / 2
}

/// Fewest misses of a trace with any replacement: fetch on demand, throw out what is needed last (Belady).
std::int64_t optimal_misses(const std::vector<int>& trace, std::size_t capacity) {
  std::vector<int> held;
  std::int64_t misses = 0;
  for (std::size_t now = 0; now < trace.size(); ++now) {
    if (std::find(held.begin(), held.end(), trace[now]) != held.end()) continue;
    ++misses;
    if (capacity == 0) continue;
    if (held.size() == capacity) {
      const auto next_use = [&](int block) {
        return std::find(trace.begin() + static_cast<std::ptrdiff_t>(now), trace.end(), block) -
               trace.begin();
      };
      held.erase(std::max_element(held.begin(), held.end(),
                                  [&](int a, int b) { return next_use(a) < next_use(b); }));
    }
    held.push_back(trace[now]);
  }
  return misses;
}

/// Extends `trace` by every permutation a pass and hands each whole trace to `visit`.
template <typename Visit>
void for_each_order(int blocks, int passes, std::vector<int>& trace, const Visit& visit) {
  if (passes == 0) return visit(trace);
  std::vector<int> order(static_cast<std::size_t>(blocks));
  std::iota(order.begin(), order.end(), 0);
  do {
    trace.insert(trace.end(), order.begin(), order.end());
    for_each_order(blocks, passes - 1, trace, visit);
    trace.resize(trace.size() - order.size());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("no order and no replacement beat the bound, and LRU with a sawtooth reaches it") {
  for (int blocks = 1; blocks <= 4; ++blocks) {
    for (int passes = 1; passes <= (blocks == 4 ? 2 : 3); ++passes) {
      for (std::int64_t capacity = 0; capacity <= blocks + 1; ++capacity) {
        std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
        std::vector<int> trace;
        for_each_order(blocks, passes, trace, [&](const std::vector<int>& whole) {
          fewest = std::min(fewest, optimal_misses(whole, static_cast<std::size_t>(capacity)));
        });
        INFO(blocks << " blocks, " << passes << " passes, capacity " << capacity);
        CHECK(fewest == blocks + (passes - 1) * std::max<std::int64_t>(0, blocks - capacity));
        const RepeatedScan sawtooth{
            .bytes = blocks, .block_bytes = 1, .passes = passes, .order = best_order_of_full_passes()};
        CHECK(missed_bytes(sawtooth, capacity) == fewest);
      }
    }
  }
}

TEST_CASE("scans refuse what is not a scan, and counts that do not fit") {
  CHECK_THROWS_AS(missed_bytes({.bytes = 0}, 1), InvalidParameter);
  CHECK_THROWS_AS(missed_bytes({.bytes = 1, .block_bytes = 0}, 1), InvalidParameter);
  CHECK_THROWS_AS(missed_bytes({.bytes = 1, .passes = 0}, 1), InvalidParameter);
  CHECK_THROWS_AS(missed_bytes({.bytes = 1}, -1), InvalidParameter);
  CHECK_THROWS_AS(missed_bytes({.bytes = std::int64_t{1} << 59, .block_bytes = 1, .passes = 1 << 20}, 0),
                  OverflowError);
}

/// Rows of K and V are 32 bytes together, of Q and O as well.
SplitQProblem dense_1d(std::int64_t length, std::int64_t q_tile) {
  return {.mask = make_mask({length}, {length}),
          .tiles = {{q_tile}, {10}},
          .sizes = {.head_dim = 16, .head_dim_value = 16, .element_bytes = 1, .sector_bytes = 16}};
}

TEST_CASE("of a dense head no shorter length misses more than once, and the answer does") {
  int answers = 0;
  for (const std::int64_t q_tile : {4, 10}) {
    for (const std::int64_t workers : {1, 2, 5}) {
      for (const std::int64_t capacity : {320, 1000, 2000, 3500}) {  // a KV tile has 320 bytes
        INFO("tile " << q_tile << ", " << workers << " workers, capacity " << capacity);
        const auto first = first_noncompulsory_seqlen(dense_1d(64, q_tile), workers, capacity);
        std::int64_t expected = 1;
        for (;; ++expected) {
          const SplitQProblem problem = dense_1d(expected, q_tile);
          const auto reuse = lockstep_reuse(problem, KvOrder::kCyclic, workers, capacity);
          REQUIRE(reuse.has_value());
          if (reuse->miss_sectors > attention_traffic(problem).cold.total) break;
        }
        CHECK(first == expected);
        ++answers;
      }
    }
  }
  CHECK(answers == 24);
}

TEST_CASE(
    "with a causal mask, a window or several heads it is the length beyond one wave and the room of the "
    "cache") {
  // Three workers of 10 rows: 3 * 10 * 32 = 960 bytes between two passes. Room for 100 rows, and one more.
  constexpr std::int64_t kBetween = 960, kRow = 32, kCapacity = kBetween + 100 * kRow;
  const auto causal = [](std::int64_t capacity, OperandSizes sizes = dense_1d(64, 10).sizes) {
    SplitQProblem problem = dense_1d(64, 10);
    problem.mask[0].causal = true;
    problem.sizes = sizes;
    return first_noncompulsory_seqlen(problem, 3, capacity);
  };
  CHECK(causal(kCapacity) == 101);
  CHECK(causal(kCapacity - 1) == 100);
  CHECK(causal(kCapacity + kRow) == 102);
  CHECK(causal(0) == 31);  // one row more than a wave has
  CHECK(causal(kBetween) == 31);
  OperandSizes grouped = dense_1d(64, 10).sizes;
  grouped.heads = 3;  // all of one KV head: a wave has one tile of each
  CHECK(causal(0, grouped) == 11);
  SplitQProblem several = dense_1d(64, 10);
  several.sizes.heads = several.sizes.heads_kv = 2;
  CHECK(first_noncompulsory_seqlen(several, 3, kCapacity) == 101);
  several.sizes.heads = several.sizes.heads_kv = 1;
  several.sizes.batch = 2;
  CHECK(first_noncompulsory_seqlen(several, 3, kCapacity) == 101);
  SplitQProblem windowed = dense_1d(200, 10);
  windowed.mask[0].window = 100;  // fits
  CHECK_FALSE(first_noncompulsory_seqlen(windowed, 3, kCapacity).has_value());
  windowed.mask[0].window = 101;
  CHECK(first_noncompulsory_seqlen(windowed, 3, kCapacity) == 101);
  const std::int64_t most = std::int64_t{1} << 40;
  CHECK(causal(kBetween + (most - 1) * kRow) == most);
  CHECK_FALSE(causal(kBetween + most * kRow).has_value());
  CHECK(causal(0).has_value());
  SplitQProblem other = dense_1d(64, 10);
  other.mask[0].window = 32;
  other.mask[0].stride = 2;
  CHECK_FALSE(first_noncompulsory_seqlen(other, 3, 0).has_value());
  other = dense_1d(64, 10);
  other.keys = 64;
  CHECK_FALSE(first_noncompulsory_seqlen(other, 3, 0).has_value());
  const SplitQProblem axes{.mask = make_mask({8, 8}, {8, 8}), .tiles = {{2, 2}, {2, 2}}};
  CHECK_FALSE(first_noncompulsory_seqlen(axes, 3, 0).has_value());
}

TEST_CASE("lockstep reuse is asked of a valid problem") {
  SplitQProblem problem = dense_1d(64, 10);
  problem.sizes.heads = 0;
  CHECK_THROWS_AS(lockstep_reuse(problem, KvOrder::kCyclic, 2, 1000), InvalidParameter);
  CHECK_THROWS_AS(lockstep_distances(problem, KvOrder::kCyclic, 2), InvalidParameter);
  problem.mask[0].window = 32;  // also where it has no closed form
  CHECK_THROWS_AS(lockstep_reuse(problem, KvOrder::kCyclic, 2, 1000), InvalidParameter);
  problem.sizes.heads = 1;
  CHECK_FALSE(lockstep_reuse(problem, KvOrder::kCyclic, 2, 1000).has_value());
}

TEST_CASE("a head that begins where an odd number of passes left a sawtooth misses as much as the first") {
  // Two heads, three waves of one CTA of 10 rows, KV tiles of 8, 8, 8 and 6 rows: 960 bytes in blocks of 256.
  SplitQProblem problem = dense_1d(30, 10);
  problem.tiles.kv_tile = {8};
  problem.sizes.heads = problem.sizes.heads_kv = 2;
  RepeatedScan scan{.bytes = 960,
                    .block_bytes = 256,
                    .passes = 3,
                    .order = KvOrder::kSawtooth,
                    .between_bytes = 320,
                    .last_between_bytes = 320};
  for (std::int64_t capacity = 0; capacity <= 1400; capacity += 20) {
    INFO(capacity);
    scan.first_pass = 0;
    const std::int64_t down = missed_bytes(scan, capacity);
    scan.first_pass = 1;
    CHECK(missed_bytes(scan, capacity) == down);
    const auto reuse = lockstep_reuse(problem, KvOrder::kSawtooth, 1, capacity);
    REQUIRE(reuse.has_value());
    CHECK(reuse->kv_miss_sectors * 16 == 2 * down);
  }
}

}  // namespace scan_reuse_test

// Closed forms of repeated scans against an LRU list, and the lower bound against the optimum of all orders.
#include <algorithm>
#include <limits>
#include <list>
#include <numeric>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/reuse/scan_reuse.hpp>

#include "catch.hpp"

namespace {

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
        CHECK(fewest == fewest_missed_blocks(blocks, passes, capacity));
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
  CHECK_THROWS_AS(fewest_missed_blocks(1, 1, -1), InvalidParameter);
}

}  // namespace

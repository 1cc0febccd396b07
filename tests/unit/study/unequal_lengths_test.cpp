// Attention whose keys are not as many as its queries, in front of a cache that K and V do not fit:
// study::reuse against a list of tiles that is written out here and shares nothing with the simulator.
#include <algorithm>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include <natten_sim/study/reuse.hpp>

#include "catch.hpp"

namespace unequal_lengths_test {

using namespace natten_sim;
using namespace natten_sim::study;

constexpr std::int64_t kTile = 16;          // rows of a Q tile and of a KV tile
constexpr std::int64_t kRowBytes = 32 * 2;  // head dim 32, 16 bits
constexpr std::int64_t kSectorBytes = 32;

struct Problem {
  std::int64_t queries = 0, keys = 0, heads = 1, workers = 1;
  bool causal = false;
  KvOrder order = KvOrder::kCyclic;
};

/// Bytes of Q (or O) rows of a tile, of `length` in all.
std::int64_t tile_bytes(std::int64_t tile, std::int64_t length) {
  return (std::min((tile + 1) * kTile, length) - tile * kTile) * kRowBytes;
}

/// KV tiles of a Q tile in the order of its walk. A causal mask ends at the last key for the last query.
std::vector<std::int64_t> walk(const Problem& problem, std::int64_t q_tile, std::int64_t pass) {
  std::vector<std::int64_t> tiles;
  const std::int64_t last_query = std::min((q_tile + 1) * kTile, problem.queries) - 1;
  for (std::int64_t tile = 0; tile * kTile < problem.keys; ++tile) {
    if (!problem.causal || tile * kTile <= last_query + problem.keys - problem.queries) tiles.push_back(tile);
  }
  if (problem.order == KvOrder::kDescending || (problem.order == KvOrder::kSawtooth && pass % 2 != 0))
    std::ranges::reverse(tiles);
  return tiles;
}

/// A tile of an operand: "Q 3", "KV 1 7" ..
struct Access {
  std::string block;
  std::int64_t bytes = 0;
  bool load = true;
};

/// What worker w does, one access a step: its Q tiles are w, w + workers, .. of all heads in a row.
std::vector<Access> accesses_of(const Problem& problem, std::int64_t worker) {
  std::vector<Access> all;
  const std::int64_t q_tiles = (problem.queries + kTile - 1) / kTile;
  std::int64_t pass = 0;
  for (std::int64_t item = worker; item < q_tiles * problem.heads; item += problem.workers) {
    const std::int64_t head = item / q_tiles, q_tile = item % q_tiles;
    const std::int64_t bytes = tile_bytes(q_tile, problem.queries);
    all.push_back({"Q " + std::to_string(item), bytes});
    for (const std::int64_t tile : walk(problem, q_tile, pass)) {
      all.push_back(
          {"KV " + std::to_string(head) + " " + std::to_string(tile), 2 * tile_bytes(tile, problem.keys)});
    }
    all.push_back({"O " + std::to_string(item), bytes, false});
    ++pass;
  }
  return all;
}

struct Counted {
  std::int64_t loads = 0, missed_loads = 0, stores = 0;  // bytes
  friend bool operator==(const Counted&, const Counted&) = default;
};

/// All workers in step, before a list of tiles by their last use.
Counted brute_force(const Problem& problem, std::int64_t capacity) {
  std::vector<std::vector<Access>> workers;
  std::size_t steps = 0;
  for (std::int64_t w = 0; w < problem.workers; ++w) {
    workers.push_back(accesses_of(problem, w));
    steps = std::max(steps, workers.back().size());
  }
  Counted counted;
  std::list<Access> used;
  for (std::size_t step = 0; step < steps; ++step) {
    for (const std::vector<Access>& own : workers) {
      if (step >= own.size()) continue;
      const Access& access = own[step];
      std::int64_t distance = access.bytes;  // of what was used since, and itself
      auto at = used.begin();
      for (; at != used.end() && at->block != access.block; ++at) distance += at->bytes;
      const bool missed = at == used.end() || distance > capacity;
      (access.load ? counted.loads : counted.stores) += access.bytes;
      if (access.load && missed) counted.missed_loads += access.bytes;
      if (at != used.end()) used.erase(at);
      used.push_front(access);
    }
  }
  return counted;
}

ReuseResult ask(const Problem& problem, std::int64_t capacity, const ReuseMethod& method) {
  ReuseQuestion question;
  question.subject = AttentionSubject{.seqlen = Extents{problem.queries},
                                      .seqlen_k = problem.keys,
                                      .causal = problem.causal,
                                      .heads = problem.heads,
                                      .head_dim = kRowBytes / 2,
                                      .q_tile = Extents{kTile},
                                      .kv_tile = Extents{kTile},
                                      .schedule = CtaSchedule::kPersistent,
                                      .workers = problem.workers};
  question.capacity_bytes = capacity;
  question.sector_bytes = kSectorBytes;
  question.order = problem.order;
  question.method = method;
  static const Context kContext = default_context();
  return reuse(question, kContext).results.front().first;
}

std::string text(const Problem& problem) {
  return std::to_string(problem.queries) + " queries, " + std::to_string(problem.keys) + " keys, " +
         std::to_string(problem.heads) + " heads, " + std::to_string(problem.workers) + " workers, " +
         (problem.causal ? "causal " : "full ") + to_string(problem.order);
}

TEST_CASE("keys unlike queries that exceed an LRU cache are read as a written-out list of tiles says") {
  struct Lengths {
    std::int64_t queries, keys;
  };
  int beyond = 0, ordered = 0;
  // Decoding of a chunk, cross attention, and lengths that fill no tile; a causal mask needs as many keys.
  for (const Lengths& lengths : {Lengths{64, 320}, {100, 333}, {17, 250}, {320, 64}, {333, 100}}) {
    for (const bool causal : {false, true}) {
      if (causal && lengths.keys < lengths.queries) continue;
      for (const std::int64_t heads : {1, 2}) {
        for (const std::int64_t workers : {1, 3, 4}) {
          std::vector<std::int64_t> reads;
          for (const KvOrder order : values_of<KvOrder>()) {
            const Problem problem = {lengths.queries, lengths.keys, heads, workers, causal, order};
            const std::int64_t head_bytes = 2 * lengths.keys * kRowBytes;  // of K and V
            for (const std::int64_t percent : {0, 30, 70, 95, 400}) {
              const std::int64_t capacity = std::max<std::int64_t>(1, head_bytes * percent / 100);
              INFO(text(problem) << ", capacity " << percent << "% of a head's K and V");
              const Counted expected = brute_force(problem, capacity);
              const ReuseResult lru = ask(problem, capacity, LruReplay{});
              CHECK((*lru.sectors.q + *lru.sectors.k + *lru.sectors.v) * kSectorBytes == expected.loads);
              CHECK(*lru.dram_read_bytes == expected.missed_loads);
              CHECK(*lru.dram_write_bytes == expected.stores);
              const ReuseResult closed = ask(problem, capacity, ClosedForm{});
              if (closed.dram_read_bytes) CHECK(*closed.dram_read_bytes == expected.missed_loads);
              const std::int64_t cold = heads * (lengths.queries * kRowBytes + head_bytes);
              if (percent < 100 && expected.missed_loads > cold) ++beyond;
              if (percent == 70) reads.push_back(expected.missed_loads);
            }
          }
          if (std::ranges::min(reads) < std::ranges::max(reads)) ++ordered;
        }
      }
    }
  }
  // The cases exist: K and V are read again, and how often hangs on the order.
  CHECK(beyond > 200);
  CHECK(ordered > 15);
}

TEST_CASE(
    "a chunk of queries reads K and V anew for each Q tile beyond the capacity, all but what its mask "
    "hides") {
  // 4 Q tiles of one worker: cyclic passes over 20 KV tiles, none of which survives in 14 tiles.
  const Problem full = {4 * kTile, 20 * kTile, 1, 1, false, KvOrder::kCyclic};
  const std::int64_t tile = 2 * kTile * kRowBytes, capacity = 14 * tile;
  const std::int64_t queries = full.queries * kRowBytes;
  CHECK(*ask(full, capacity, LruReplay{}).dram_read_bytes == queries + 4 * 20 * tile);
  // The last query tile sees all 20 tiles, the ones before it 19, 18 and 17.
  Problem causal = full;
  causal.causal = true;
  CHECK(*ask(causal, capacity, LruReplay{}).dram_read_bytes == queries + (20 + 19 + 18 + 17) * tile);
}

}  // namespace unequal_lengths_test

// What attention reads of masks that are given tile by tile, against an enumeration of sectors, and against the masks
// that formulas know.
#include <random>
#include <set>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/sim/reuse/lockstep.hpp>
#include <natten_sim/sim/reuse/wavefront.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace given_rows_test {

using namespace natten_sim;
using test::cases;
using test::stored_seed;

std::int64_t pick(std::mt19937_64& random, std::int64_t lo, std::int64_t hi) {
  return lo + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(hi - lo + 1));
}

SplitQProblem random_problem(std::mt19937_64& random) {
  SplitQProblem problem;
  const std::int64_t tokens = pick(random, 1, 60);
  problem.mask = {{tokens, tokens, 1, 1, false}};
  if (pick(random, 0, 1) == 0) problem.keys = pick(random, 1, 60);
  problem.tiles = {{pick(random, 1, 9)}, {pick(random, 1, 9)}};
  auto rows = std::make_shared<VisitedRows>();
  rows->heads = pick(random, 1, 2);
  rows->batches = pick(random, 1, 2);
  OperandSizes& sizes = problem.sizes;
  sizes.heads_kv = rows->heads * pick(random, 1, 2);
  sizes.heads = sizes.heads_kv * pick(random, 1, 2);
  sizes.batch = rows->batches * pick(random, 1, 2);
  sizes.head_dim = 16 * pick(random, 1, 3);  // whole sectors
  sizes.head_dim_value = 16 * pick(random, 1, 3);
  const std::int64_t q_tiles = (tokens - 1) / problem.tiles.q_tile[0] + 1;
  const std::int64_t kv_tiles = (key_length(problem, 0) - 1) / problem.tiles.kv_tile[0] + 1;
  for (std::int64_t row = 0; row < rows->masks() * q_tiles; ++row) {
    rows->kv_of_q.emplace_back();
    const std::int64_t density = pick(random, 0, 4);  // 0: none
    for (std::int64_t tile = 0; tile < kv_tiles; ++tile) {
      if (pick(random, 1, 4) <= density) rows->kv_of_q.back().push_back(static_cast<std::int32_t>(tile));
    }
  }
  problem.rows = rows;
  return problem;
}

/// Sectors of an operand: all loads, and which sectors of which head.
struct Touched {
  std::int64_t loads = 0;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> sectors;  // batch, head, sector

  void add(const SplitQProblem& problem, std::int64_t batch, std::int64_t head, std::int64_t begin, std::int64_t end,
           std::int64_t row_bytes) {
    std::set<std::int64_t> here;
    for (std::int64_t byte = begin * row_bytes; byte < end * row_bytes; ++byte) here.insert(byte / problem.sizes.sector_bytes);
    loads += static_cast<std::int64_t>(here.size());
    for (const std::int64_t sector : here) sectors.insert({batch, head, sector});
  }
  [[nodiscard]] std::int64_t cold() const { return static_cast<std::int64_t>(sectors.size()); }
};

TEST_CASE("sectors of given rows are those that their tiles touch, byte by byte: 100 random masks") {
  std::mt19937_64 random(stored_seed());
  for (int round = 0; round < cases(100); ++round) {
    INFO("NATTEN_SIM_SEED=" << stored_seed() << ", mask " << round);
    const SplitQProblem problem = random_problem(random);
    const OperandSizes& sizes = problem.sizes;
    const VisitedRows& rows = *problem.rows;
    const std::int64_t tokens = problem.mask[0].length, keys = key_length(problem, 0);
    const std::int64_t q_tile = problem.tiles.q_tile[0], kv_tile = problem.tiles.kv_tile[0];
    const std::int64_t q_tiles = (tokens - 1) / q_tile + 1;
    Touched q, k, v, o;
    for (std::int64_t batch = 0; batch < sizes.batch; ++batch) {
      for (std::int64_t head = 0; head < sizes.heads; ++head) {
        for (std::int64_t i = 0; i < q_tiles; ++i) {
          const std::int64_t end = std::min((i + 1) * q_tile, tokens);
          q.add(problem, batch, head, i * q_tile, end, sizes.key_row_bytes());
          o.add(problem, batch, head, i * q_tile, end, sizes.value_row_bytes());
          const std::int64_t row = rows.mask_of(batch, head) * q_tiles + i;
          for (const std::int32_t tile : rows.kv_of_q[static_cast<std::size_t>(row)]) {
            const std::int64_t last = std::min((tile + 1) * kv_tile, keys), kv_head = head / sizes.group();
            k.add(problem, batch, kv_head, tile * kv_tile, last, sizes.key_row_bytes());
            v.add(problem, batch, kv_head, tile * kv_tile, last, sizes.value_row_bytes());
          }
        }
      }
    }
    const AttentionTraffic traffic = attention_traffic(problem);
    REQUIRE(traffic.sectors == SectorCounts{q.loads, k.loads, v.loads, o.loads, q.loads + k.loads + v.loads + o.loads});
    REQUIRE(traffic.cold == SectorCounts{q.cold(), k.cold(), v.cold(), o.cold(), q.cold() + k.cold() + v.cold() + o.cold()});
    const AttentionWork work(problem, {.workers = static_cast<std::int32_t>(pick(random, 1, 5))});
    const ReuseProfile profile = replay_lockstep(work);
    REQUIRE(profile.accesses() == traffic.sectors.total);
    REQUIRE(profile.cold() == traffic.cold.total);
  }
}

WavefrontDevice small_device(std::int32_t sms) {
  WavefrontDevice device;
  device.capacity_bytes = 60'000;
  device.sms = sms;
  device.hit_bytes_per_ns = 64;
  device.miss_bytes_per_ns = 32;
  device.dram_bytes_per_ns = 100;
  device.pairs_per_ns = 50;
  return device;
}

/// The rows of a window of one axis, for each of `masks` heads.
SplitQProblem as_rows(SplitQProblem problem, std::int64_t heads) {
  auto rows = std::make_shared<VisitedRows>();
  rows->heads = heads;
  const std::int64_t q_tiles = (problem.mask[0].length - 1) / problem.tiles.q_tile[0] + 1;
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t i = 0; i < q_tiles; ++i) {
      const TileRange range = visited_kv_tiles(problem, 0, i);
      rows->kv_of_q.emplace_back();
      for (std::int64_t tile = range.begin; tile < range.end; ++tile) rows->kv_of_q.back().push_back(static_cast<std::int32_t>(tile));
    }
  }
  problem.mask = {{problem.mask[0].length, problem.mask[0].length, 1, 1, false}};
  problem.rows = rows;
  return problem;
}

TEST_CASE("the rows of a causal mask or a window are read as that mask is, in step and in time") {
  for (const auto& [window, causal] : {std::pair{std::int64_t{500}, true}, std::pair{std::int64_t{96}, false}}) {
    for (const KvOrder order : values_of<KvOrder>()) {
      SplitQProblem problem;
      problem.mask = {{500, window, 1, 1, causal}};
      problem.tiles = {{32}, {16}};
      problem.sizes = {.batch = 2, .heads = 4, .heads_kv = 2, .head_dim = 64, .head_dim_value = 64};
      const AttentionSchedule schedule{.schedule = CtaSchedule::kGrid, .order = order, .workers = 7};
      const AttentionWork by_mask(problem, schedule);
      for (const std::int64_t heads : {1, 4}) {
        const AttentionWork by_rows(as_rows(problem, heads), schedule);
        CHECK(by_rows.accesses() == by_mask.accesses());
        const ReuseProfile rows = replay_lockstep(by_rows), mask = replay_lockstep(by_mask);
        for (const std::int64_t capacity : {0, 20'000, 60'000, 200'000}) CHECK(rows.misses(capacity) == mask.misses(capacity));
        const WavefrontDevice device = small_device(7);
        CHECK(run_wavefront(by_rows, device).time_ns == run_wavefront(by_mask, device).time_ns);
      }
    }
  }
}

TEST_CASE("a Q tile that attends to nothing is loaded and stored, whatever the schedule, and takes no time") {
  SplitQProblem problem;
  problem.mask = {{1 << 20, 1 << 20, 1, 1, false}};
  problem.tiles = {{16}, {1 << 20}};
  auto rows = std::make_shared<VisitedRows>();
  rows->kv_of_q.resize((1 << 20) / 16);
  problem.rows = rows;
  const WavefrontRun run = run_wavefront(AttentionWork(problem, {.workers = 2}), small_device(2));
  CHECK(run.time_ns == 0);
  CHECK(run.load_sectors == (1 << 20) * 128 / 32);
  CHECK(run.store_sectors == run.load_sectors);
}

TEST_CASE("rows that do not fit the problem are refused by what does not fit") {
  SplitQProblem problem;
  problem.mask = {{64, 64, 1, 1, false}};
  problem.tiles = {{32}, {32}};
  const auto refused = [&](VisitedRows rows) {
    problem.rows = std::make_shared<const VisitedRows>(std::move(rows));
    try {
      require_valid(problem);
    } catch (const InvalidParameter& error) {
      return error.parameter();
    }
    return std::string("nothing");
  };
  CHECK(refused({.kv_of_q = {{0, 1}, {}}}) == "nothing");
  CHECK(refused({.kv_of_q = {{0, 1}}}) == "mask");
  CHECK(refused({.kv_of_q = {{1, 0}, {}}}) == "mask");
  CHECK(refused({.kv_of_q = {{0, 0}, {}}}) == "mask");
  CHECK(refused({.kv_of_q = {{2}, {}}}) == "mask");
  CHECK(refused({.heads = 2, .kv_of_q = {{}, {}, {}, {}}}) == "heads");
  CHECK(refused({.batches = 2, .kv_of_q = {{}, {}, {}, {}}}) == "batch_size");
  problem.sizes.head_dim = 24;
  CHECK(refused({.kv_of_q = {{0, 1}, {}}}) == "head_dim");
  problem.sizes.head_dim = 64;
  problem.mask[0].causal = true;
  CHECK(refused({.kv_of_q = {{0, 1}, {}}}) == "mask");
}

}  // namespace given_rows_test

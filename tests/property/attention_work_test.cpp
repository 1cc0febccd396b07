// Which CTA takes which Q tile, what it loads, and that both agree with the closed forms and the tile walk.
#include <algorithm>
#include <map>
#include <set>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/sim/reuse/attention_work.hpp>
#include <natten_sim/sim/reuse/lockstep.hpp>
#include <natten_sim/sim/reuse/wavefront.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "catch.hpp"

namespace attention_work_test {

using namespace natten_sim;

SplitQProblem problem_1d(std::int64_t length, std::int64_t q_tile, std::int64_t kv_tile, bool causal,
                         OperandSizes sizes = {}) {
  return {.mask = make_mask({length}, {length}, {}, {}, {causal}),
          .tiles = {{q_tile}, {kv_tile}},
          .sizes = sizes};
}

std::vector<std::int64_t> q_tiles_of(const AttentionWork& work, Dispatcher& dispatcher, std::int32_t worker,
                                     int count) {
  std::vector<std::int64_t> tiles;
  for (int i = 0; i < count; ++i) {
    const auto position = dispatcher.next(worker);
    tiles.push_back(position ? work.item(*position).number : -1);
  }
  return tiles;
}

using Tiles = std::vector<std::int64_t>;

/// Bytes of a tile that is loaded or stored: its own sectors and the one that the tile before it holds.
std::int64_t moved(const BlockAccess& access) { return access.bytes + access.shared_bytes; }

TEST_CASE("persistent workers take every workers-th Q tile, a grid hands out the next") {
  const SplitQProblem problem = problem_1d(70, 10, 10, false);  // 7 Q tiles
  const AttentionWork persistent(problem, {.schedule = CtaSchedule::kPersistent, .workers = 3});
  Dispatcher round_robin(persistent);
  CHECK(q_tiles_of(persistent, round_robin, 1, 3) == Tiles{1, 4, -1});
  CHECK(q_tiles_of(persistent, round_robin, 0, 4) == Tiles{0, 3, 6, -1});
  const AttentionWork grid(problem, {.schedule = CtaSchedule::kGrid, .workers = 3});
  Dispatcher next_free(grid);
  CHECK(q_tiles_of(grid, next_free, 1, 2) == Tiles{0, 1});
  CHECK(q_tiles_of(grid, next_free, 0, 6) == Tiles{2, 3, 4, 5, 6, -1});
  CHECK(q_tiles_of(grid, next_free, 1, 1) == Tiles{-1});
}

TEST_CASE("the tile schedule hands out two rows at a time and never pairs two heads") {
  const SplitQProblem problem =
      problem_1d(30, 10, 10, false, {.heads = 2, .heads_kv = 2});  // 3 Q tiles a head
  const AttentionWork work(problem, {.schedule = CtaSchedule::kTile, .workers = 2});
  Dispatcher dispatcher(work);
  CHECK(q_tiles_of(work, dispatcher, 0, 1) == Tiles{0});
  CHECK(q_tiles_of(work, dispatcher, 1, 1) == Tiles{2});  // alone: the next one is the second head's
  CHECK(q_tiles_of(work, dispatcher, 1, 1) == Tiles{3});
  CHECK(q_tiles_of(work, dispatcher, 0, 2) == Tiles{1, 5});
  CHECK(q_tiles_of(work, dispatcher, 1, 2) == Tiles{4, -1});
  CHECK_THROWS_AS(
      AttentionWork(problem, {.schedule = CtaSchedule::kTile, .launch = LaunchOrder::kHeadsFirst}),
      InvalidParameter);
}

TEST_CASE("launch order: Q tiles, then batches, then heads, or heads and batches of each Q tile first") {
  const SplitQProblem problem = problem_1d(20, 10, 10, false, {.batch = 2, .heads = 2, .heads_kv = 1});
  // Numbers count (batch, head, tile), tile fastest.
  const auto numbers = [&](const AttentionSchedule& schedule) {
    const AttentionWork work(problem, schedule);
    Tiles tiles;
    for (std::int64_t i = 0; i < work.items(); ++i) tiles.push_back(work.item(i).number);
    return tiles;
  };
  CHECK(numbers({}) == Tiles{0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(numbers({.launch = LaunchOrder::kHeadsFirst}) == Tiles{0, 2, 4, 6, 1, 3, 5, 7});
  CHECK(numbers({.last_q_tile_first = true}) == Tiles{1, 0, 5, 4, 3, 2, 7, 6});
  const AttentionWork work(problem, {});
  CHECK(work.item(0).kv_base == work.item(4).kv_base);  // both heads of batch 0 share K and V
  CHECK(work.item(0).kv_base != work.item(2).kv_base);
}

TEST_CASE("orders walk the same tiles in the named direction") {
  const SplitQProblem problem = problem_1d(40, 10, 10, true);
  const auto walk = [&](const KvWalk& order, std::int64_t q, std::int64_t pass) {
    const AttentionWork work(problem, {.order = order});
    const AttentionWork::Item item = work.item(q);
    Tiles tiles;
    for (std::int64_t i = 0; i < item.kv_tiles; ++i) tiles.push_back(work.key(item, pass, i).block / 2);
    return tiles;
  };
  CHECK(walk(KvOrder::kCyclic, 2, 1) == Tiles{0, 1, 2});
  CHECK(walk(KvOrder::kDescending, 2, 0) == Tiles{2, 1, 0});
  CHECK(walk(KvOrder::kSawtooth, 2, 0) == Tiles{0, 1, 2});
  CHECK(walk(KvOrder::kSawtooth, 2, 1) == Tiles{2, 1, 0});
  const KvPermutations permutations{{{3, 1, 0, 2}, {0, 1, 2, 3}}};
  CHECK(walk(permutations, 3, 0) == Tiles{3, 1, 0, 2});
  CHECK(walk(permutations, 2, 0) == Tiles{1, 0, 2});  // what is not visited is left out
  CHECK(walk(permutations, 3, 1) == Tiles{0, 1, 2, 3});
  CHECK(walk(permutations, 1, 2) == Tiles{1, 0});
  for (const auto& bad : {std::vector<std::int32_t>{0, 1, 2}, {0, 1, 2, 2}, {0, 1, 2, 4}, {-1, 1, 2, 3}})
    CHECK_THROWS_AS(walk(KvPermutations{{bad}}, 0, 0), InvalidParameter);
  // A list a Q tile, the same in every pass: Q tile q of this causal mask visits tiles 0 to q.
  const KvLists lists{{{0}, {1, 0}, {0, 2, 1}, {3, 1, 0, 2}}};
  for (const std::int64_t pass : {0, 1, 5}) {
    CHECK(walk(lists, 3, pass) == Tiles{3, 1, 0, 2});
    CHECK(walk(lists, 2, pass) == Tiles{0, 2, 1});
    CHECK(walk(lists, 0, pass) == Tiles{0});
  }
  for (const auto& bad : {std::vector<std::int32_t>{0, 2}, {0, 1, 1}, {0, 1, 3}, {0, 1, 2, 3}, {}})
    CHECK_THROWS_AS(walk(KvLists{{{0}, {1, 0}, bad, {3, 1, 0, 2}}}, 0, 0), InvalidParameter);
  CHECK_THROWS_AS(walk(KvLists{{{0}, {1, 0}, {0, 2, 1}}}, 0, 0), InvalidParameter);
}

TEST_CASE("loads and stores of all items are the closed form's sectors, whatever the mask") {
  struct Case {
    NeighborhoodMask mask;
    TilePair tiles;
    OperandSizes sizes;
  };
  const std::vector<Case> cases = {
      {make_mask({100}, {100}), {{16}, {24}}, {}},
      {make_mask({100}, {100}, {}, {}, {true}), {{16}, {24}}, {.heads = 4, .heads_kv = 2}},
      {make_mask({97}, {20}, {3}), {{16}, {7}}, {.batch = 2, .head_dim = 10, .head_dim_value = 6}},
      {make_mask({12, 10}, {5, 10}, {2, 1}), {{4, 4}, {3, 5}}, {.head_dim = 64, .head_dim_value = 128}},
      {make_mask({6, 8, 9}, {3, 4, 9}, {}, {}, {true, false, false}), {{2, 4, 4}, {2, 2, 8}}, {}},
  };
  for (const Case& c : cases) {
    const SplitQProblem problem{c.mask, c.tiles, c.sizes};
    const AttentionTraffic traffic = attention_traffic(problem);
    const AttentionWork work(problem, {});
    std::map<std::int64_t, Tiles> by_q;
    for_each_tile_visit({.mask = c.mask, .tiles = c.tiles},
                        [&](const TileVisit& visit) { by_q[visit.q_tile].push_back(visit.kv_tile); });
    std::int64_t q = 0, kv = 0, o = 0, accesses = 0;
    std::set<std::int64_t> blocks;
    for (std::int64_t i = 0; i < work.items(); ++i) {
      const AttentionWork::Item item = work.item(i);
      q += moved(work.query(item));
      o += moved(work.output(item));
      Tiles walked;
      for (std::int64_t step = 0; step < item.kv_tiles; ++step) {
        const BlockAccess key = work.key(item, 0, step), value = work.value_of(item, key);
        kv += moved(key) + moved(value);
        walked.push_back(key.block / 2 - item.kv_base);
        blocks.insert({key.block, value.block});
      }
      CHECK(walked == by_q[item.q_tile]);
      blocks.insert(work.query(item).block);
      blocks.insert(work.output(item).block);
      accesses += item.kv_tiles + 2;
    }
    const std::int64_t sector = c.sizes.sector_bytes;
    CHECK(q == traffic.sectors.q * sector);
    CHECK(kv == (traffic.sectors.k + traffic.sectors.v) * sector);
    CHECK(o == traffic.sectors.o * sector);
    CHECK(accesses == work.accesses());
    CHECK(*blocks.rbegin() < work.blocks());
    CHECK(std::ssize(blocks) <= work.blocks());
  }
}

TEST_CASE("work that cannot be simulated is refused") {
  const SplitQProblem problem = problem_1d(64, 8, 8, false);
  CHECK_THROWS_AS(AttentionWork(problem, {.workers = 0}), InvalidParameter);
  CHECK_THROWS_AS(AttentionWork(problem, {.order = KvPermutations{}}), InvalidParameter);
  CHECK_THROWS_AS(AttentionWork(problem_1d(std::int64_t{1} << 40, 1, 1, false), {}), InvalidParameter);
}

TEST_CASE("a sector that two tiles share is missed once, and moved with each") {
  // Rows of 20 bytes in sectors of 32: 100 rows are 63 sectors, and few tiles begin where a sector does.
  for (const std::int64_t head_dim : {1, 3, 10, 20}) {
    for (const std::int64_t tile : {1, 3, 7}) {
      INFO("head dim " << head_dim << ", tiles of " << tile);
      const SplitQProblem problem = {
          .mask = make_mask({100}, {100}),
          .tiles = {{7}, {tile}},
          .sizes = {.heads = 2, .heads_kv = 2, .head_dim = head_dim, .head_dim_value = 10}};
      const AttentionTraffic traffic = attention_traffic(problem);
      const std::int64_t sectors_of_head = (100 * head_dim * 2 + 31) / 32,
                         of_value = (100 * 10 * 2 + 31) / 32;
      const std::int64_t once = 2 * 2 * (sectors_of_head + of_value);  // Q and K, V and O of two heads
      const AttentionWork work(problem, {.workers = 3});
      for (const Granularity granularity : {Granularity::kTile, Granularity::kSector}) {
        const ReuseProfile profile = replay_lockstep(work, granularity);
        CHECK(profile.accesses() == traffic.sectors.total);
        CHECK(profile.cold() == once);
        CHECK(profile.misses(1 << 30) == once);
      }
      const WavefrontDevice device = {.capacity_bytes = 1 << 20,
                                      .sms = 3,
                                      .hit_bytes_per_ns = 80,
                                      .miss_bytes_per_ns = 40,
                                      .dram_bytes_per_ns = 20,
                                      .pairs_per_ns = 10};
      const WavefrontRun run = run_wavefront(work, device, {.record_distances = true});
      CHECK(run.load_sectors + run.store_sectors == traffic.sectors.total);
      CHECK(run.load_miss_sectors == once - 2 * of_value);
    }
  }
}

}  // namespace attention_work_test

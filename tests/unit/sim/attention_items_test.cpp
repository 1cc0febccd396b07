// Items of attention once more, from loops over batches, heads and the visits of a walk; who takes them; and
// counts of distances from a map.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/sim/reuse/attention_work.hpp>
#include <natten_sim/sim/reuse/stack_distance.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "catch.hpp"
#include "random_values.hpp"
#include "refused.hpp"
#include "random.hpp"

namespace attention_items_test {

using namespace natten_sim;
using test::RandomValues;

using Tiles = std::vector<std::int64_t>;

SplitQProblem random_problem(RandomValues& random) {
  OperandSizes sizes{.batch = random.whole(1, 3), .heads_kv = random.whole(1, 2)};
  sizes.heads = sizes.heads_kv * random.whole(1, 3);
  const std::int64_t axes = random.whole(1, 3);
  std::vector<std::int64_t> lengths, windows, q_tile, kv_tile;
  std::vector<bool> causal;
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    lengths.push_back(random.whole(1, axes == 1 ? 40 : 9));
    windows.push_back(random.coin() ? lengths.back() : random.whole(1, lengths.back()));
    q_tile.push_back(random.whole(1, 5));
    kv_tile.push_back(random.whole(1, 5));
    causal.push_back(random.coin());
  }
  if (axes == 1) {  // rows need not be whole sectors
    sizes.head_dim = random.whole(1, 40);
    sizes.head_dim_value = random.whole(1, 40);
  }
  SplitQProblem problem;
  problem.sizes = sizes;
  for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
    AxisMask mask;
    mask.length = lengths[axis];
    mask.window = windows[axis];
    mask.causal = causal[axis];
    problem.mask.push_back(mask);
    problem.tiles.q_tile.push_back(q_tile[axis]);
    problem.tiles.kv_tile.push_back(kv_tile[axis]);
  }
  return problem;
}

/// Rows of each tile of a grid, row-major.
Tiles rows_of_tiles(const NeighborhoodMask& mask, const Extents& tile) {
  Tiles rows = {1};
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
    Tiles next;
    for (const std::int64_t outer : rows) {
      for (std::int64_t begin = 0; begin < mask[axis].length; begin += tile[axis])
        next.push_back(outer * std::min(tile[axis], mask[axis].length - begin));
    }
    rows = next;
  }
  return rows;
}

struct TileBytes {
  Tiles own, shared;
  [[nodiscard]] bool are_of(const BlockAccess& access, std::size_t tile) const {
    return access.bytes == own[tile] && access.shared_bytes == shared[tile];
  }
};

/// Bytes of the sectors that each tile's rows touch, stored one tile after the other, byte by byte: a sector
/// belongs to the first tile that touches it.
TileBytes bytes_of_tiles(const Tiles& rows, std::int64_t row_bytes, std::int64_t sector) {
  TileBytes bytes;
  std::int64_t byte = 0, last_sector = -1;
  for (const std::int64_t each : rows) {
    std::set<std::int64_t> touched;
    for (const std::int64_t end = byte + each * row_bytes; byte < end; ++byte) touched.insert(byte / sector);
    const std::int64_t shared = touched.count(last_sector);
    bytes.own.push_back((std::ssize(touched) - shared) * sector);
    bytes.shared.push_back(shared * sector);
    last_sector = *touched.rbegin();
  }
  return bytes;
}

TEST_CASE("items load and store their own tiles in the order of their launch, whatever the problem") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  for (int n = 0; n < 120; ++n) {
    CAPTURE(n);
    const SplitQProblem problem = random_problem(random);
    const OperandSizes& sizes = problem.sizes;
    const Tiles q_rows = rows_of_tiles(problem.mask, problem.tiles.q_tile);
    const Tiles kv_rows = rows_of_tiles(problem.mask, problem.tiles.kv_tile);
    const std::int64_t q_tiles = std::ssize(q_rows), kv_tiles = std::ssize(kv_rows);
    AttentionSchedule schedule;
    schedule.launch = random.of({LaunchOrder::kTilesFirst, LaunchOrder::kHeadsFirst});
    schedule.last_q_tile_first = random.coin();
    std::vector<std::vector<std::int32_t>> passes;
    if (random.coin()) {
      schedule.order = random.of({KvOrder::kCyclic, KvOrder::kSawtooth, KvOrder::kDescending});
    } else {
      for (std::int64_t pass = random.whole(1, 3); pass > 0; --pass) {
        std::vector<std::int32_t> left, order;
        for (std::int64_t tile = 0; tile < kv_tiles; ++tile) left.push_back(static_cast<std::int32_t>(tile));
        for (; !left.empty();) {
          const auto at = left.begin() + random.whole(0, std::ssize(left) - 1);
          order.push_back(*at);
          left.erase(at);
        }
        passes.push_back(order);
      }
      schedule.order = KvPermutations{passes};
    }
    const AttentionWork work(problem, schedule);
    std::map<std::int64_t, Tiles> visited;
    for_each_tile_visit({.mask = problem.mask, .tiles = problem.tiles},
                        [&](const TileVisit& visit) { visited[visit.q_tile].push_back(visit.kv_tile); });
    const TileBytes q_bytes = bytes_of_tiles(q_rows, 2 * sizes.head_dim, 32);
    const TileBytes o_bytes = bytes_of_tiles(q_rows, 2 * sizes.head_dim_value, 32);
    const TileBytes k_bytes = bytes_of_tiles(kv_rows, 2 * sizes.head_dim, 32);
    const TileBytes v_bytes = bytes_of_tiles(kv_rows, 2 * sizes.head_dim_value, 32);

    struct Launched {
      std::int64_t batch, head, index;
    };
    std::vector<Launched> launched;
    if (schedule.launch == LaunchOrder::kTilesFirst) {
      for (std::int64_t head = 0; head < sizes.heads; ++head)
        for (std::int64_t batch = 0; batch < sizes.batch; ++batch)
          for (std::int64_t index = 0; index < q_tiles; ++index) launched.push_back({batch, head, index});
    } else {
      for (std::int64_t index = 0; index < q_tiles; ++index)
        for (std::int64_t batch = 0; batch < sizes.batch; ++batch)
          for (std::int64_t head = 0; head < sizes.heads; ++head) launched.push_back({batch, head, index});
    }
    const std::int64_t all_kv = sizes.batch * sizes.heads_kv * kv_tiles, items = std::ssize(launched);
    REQUIRE(work.items() == items);
    REQUIRE(work.q_tiles_per_head() == q_tiles);
    REQUIRE(work.blocks() == 2 * (all_kv + items));
    REQUIRE(work.sector_bytes() == 32);
    std::int64_t accesses = 0;
    bool same = true;
    for (std::int64_t i = 0; i < items; ++i) {
      const auto [batch, head, index] = launched[static_cast<std::size_t>(i)];
      const std::int64_t q = schedule.last_q_tile_first ? q_tiles - 1 - index : index;
      const auto at = static_cast<std::size_t>(q);
      const AttentionWork::Item item = work.item(i);
      const std::int64_t number = (batch * sizes.heads + head) * q_tiles + q;
      same = same && item.number == number;
      same = same && item.q_tile == q;
      same =
          same && item.kv_base == (batch * sizes.heads_kv + head / (sizes.heads / sizes.heads_kv)) * kv_tiles;
      same = same && item.kv_tiles == std::ssize(visited[q]);
      same = same && work.query(item).block == 2 * all_kv + number;
      same = same && q_bytes.are_of(work.query(item), at);
      same = same && work.query(item).operand == Operand::kQuery;
      same = same && work.output(item).block == 2 * all_kv + items + number;
      same = same && o_bytes.are_of(work.output(item), at);
      same = same && work.output(item).operand == Operand::kOutput;
      for (const std::int64_t pass : {0, 1, 2, 5}) {
        Tiles expected = visited[q];
        if (passes.empty()) {
          const auto order = std::get<KvOrder>(schedule.order);
          if (order == KvOrder::kDescending || (order == KvOrder::kSawtooth && pass % 2 == 1))
            std::reverse(expected.begin(), expected.end());
        } else {
          const std::set<std::int64_t> wanted(expected.begin(), expected.end());
          expected.clear();
          for (const std::int32_t tile : passes[static_cast<std::size_t>(pass) % passes.size()]) {
            if (wanted.contains(tile)) expected.push_back(tile);
          }
        }
        for (std::int64_t step = 0; step < item.kv_tiles; ++step) {
          const std::int64_t tile = expected[static_cast<std::size_t>(step)];
          const BlockAccess key = work.key(item, pass, step), value = work.value_of(item, key),
                            both = work.key_value(item, pass, step);
          same = same && key.block == 2 * (item.kv_base + tile) && value.block == key.block + 1;
          same = same && both.block == key.block && both.bytes == key.bytes + value.bytes &&
                 both.shared_bytes == key.shared_bytes + value.shared_bytes;
          REQUIRE(k_bytes.are_of(key, static_cast<std::size_t>(tile)));
          REQUIRE(v_bytes.are_of(value, static_cast<std::size_t>(tile)));
          for (const BlockAccess& access : {key, value, both})
            same = same && access.operand == Operand::kKeyValue;
          REQUIRE(work.multiplied_pairs(item, key) == q_rows[at] * kv_rows[static_cast<std::size_t>(tile)]);
        }
      }
      accesses += item.kv_tiles + 2;
    }
    REQUIRE(same);
    REQUIRE(work.accesses() == accesses);
  }
}

TEST_CASE("workers that ask in any order get items as the schedule deals them") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  for (int n = 0; n < 200; ++n) {
    CAPTURE(n);
    AttentionSchedule schedule;
    schedule.schedule = random.of({CtaSchedule::kPersistent, CtaSchedule::kGrid, CtaSchedule::kTile});
    schedule.workers = static_cast<std::int32_t>(random.whole(1, 6));
    const AttentionWork work(random_problem(random), schedule);
    // What each worker, and what whoever comes first, takes next.
    std::map<std::int32_t, std::deque<std::int64_t>> own;
    std::deque<std::deque<std::int64_t>> shared;
    for (std::int64_t i = 0; i < work.items(); ++i) {
      if (schedule.schedule == CtaSchedule::kPersistent) {
        own[static_cast<std::int32_t>(i % schedule.workers)].push_back(i);
      } else if (schedule.schedule == CtaSchedule::kTile && i % work.q_tiles_per_head() % 2 == 1) {
        shared.back().push_back(i);  // the second row of a pair
      } else {
        shared.push_back({i});
      }
    }
    Dispatcher dispatcher(work);
    for (std::int64_t asked = 0; asked < 2 * work.items() + 10; ++asked) {
      const auto worker = static_cast<std::int32_t>(random.whole(0, schedule.workers - 1));
      std::deque<std::int64_t>& mine = own[worker];
      if (mine.empty() && !shared.empty()) {
        mine = shared.front();
        shared.pop_front();
      }
      std::optional<std::int64_t> expected;
      if (!mine.empty()) {
        expected = mine.front();
        mine.pop_front();
      }
      REQUIRE(dispatcher.next(worker) == expected);
    }
  }
}

TEST_CASE("sizes that cannot be simulated are refused by name, one less is taken") {
  const auto refused = [](std::int64_t length, std::int64_t tile, const AttentionSchedule& schedule,
                          std::int64_t head_dim = 16) {
    OperandSizes sizes;
    sizes.head_dim = head_dim;
    const SplitQProblem problem{
        .mask = make_mask({length}, {length}), .tiles = {{tile}, {tile}}, .sizes = sizes};
    return test::refused([&] { (void)AttentionWork(problem, schedule); });
  };
  CHECK(refused(8, 8, {.workers = 1}).empty());
  CHECK(refused(8, 8, {.workers = 1 << 20}).empty());
  CHECK(refused(8, 8, {.workers = 0}) == "workers");
  CHECK(refused(8, 8, {.workers = (1 << 20) + 1}) == "workers");
  // A tile of Q of 2^30 bytes, and of a sector more.
  CHECK(refused(1 << 20, 1 << 20, {}, 512).empty());
  CHECK(refused((1 << 20) + 1, (1 << 20) + 1, {}, 512) == "tiles");
  // Tiles of K and V, Q and O: three times 22,369,621 are 2^26 - 1.
  CHECK(refused(22369622, 1, {}) == "tiles");
  CHECK(refused(8, 8, {.schedule = CtaSchedule::kTile, .launch = LaunchOrder::kHeadsFirst}) == "schedule");
  CHECK(refused(8, 8, {.schedule = CtaSchedule::kGrid, .launch = LaunchOrder::kHeadsFirst}).empty());
  // 2^26 visits in all passes: 64 x 64 tiles in 2^14 passes; and a pass more.
  std::vector<std::int32_t> pass;
  for (std::int32_t i = 0; i < 64; ++i) pass.push_back(i);
  CHECK(refused(64, 1, {.order = KvPermutations{std::vector(16385, pass)}}) == "order");
  CHECK(refused(64, 1, {.order = KvPermutations{{pass}}}).empty());
}

TEST_CASE("counts of distances are those of a map, whatever distances and weights come") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  for (int n = 0; n < 80; ++n) {
    CAPTURE(n);
    ReuseProfile profile;
    std::map<std::int64_t, std::int64_t> counts;
    std::int64_t cold = 0, accesses = 0;
    const std::int64_t unit = random.of<std::int64_t>({1, 32, 4096, 96});
    const std::int64_t most = random.of<std::int64_t>({3, 100, 5000, n % 20 == 0 ? 3000000 : 700});
    for (std::int64_t left = random.whole(0, n % 10 == 0 ? 3000 : 200); left > 0; --left) {
      std::optional<std::int64_t> distance;
      if (random.whole(0, 5) > 0) distance = unit * random.whole(0, most);
      if (distance && random.whole(0, 60) == 0) *distance += random.whole(0, 31);  // another power of two
      std::int64_t weight = random.of<std::int64_t>({1, 1, random.whole(0, 1000)});
      if (random.whole(0, 50) == 0) weight = random.of<std::int64_t>({0xffffffff, 0x100000000, 0xfffffff0});
      profile.add(distance, weight);
      accesses += weight;
      if (distance) {
        counts[*distance] += weight;
      } else {
        cold += weight;
      }
    }
    std::erase_if(counts, [](const auto& each) { return each.second == 0; });
    REQUIRE(profile.accesses() == accesses);
    REQUIRE(profile.cold() == cold);
    std::vector<std::pair<std::int64_t, std::int64_t>> expected(counts.begin(), counts.end()), found;
    for (const ReuseProfile::Point& point : profile.distances()) {
      if (point.count > 0) found.emplace_back(point.bytes, point.count);
    }
    REQUIRE(found == expected);
    double sum = 0;
    for (const auto& [distance, count] : counts)
      sum += static_cast<double>(distance) * static_cast<double>(count);
    if (accesses == cold) {
      REQUIRE_FALSE(profile.mean_bytes().has_value());
    } else {
      REQUIRE(std::abs(*profile.mean_bytes() - sum / static_cast<double>(accesses - cold)) <= 1e-9 * sum);
    }
    Tiles capacities = {
        -1, 0, 1, unit * most, unit * random.whole(0, most), unit * random.whole(0, most) + 1};
    for (const auto& [distance, count] : counts) {
      if (random.whole(0, 20) == 0)
        capacities.insert(capacities.end(), {distance - 1, distance, distance + 1});
    }
    for (const std::int64_t capacity : capacities) {
      std::int64_t misses = cold;
      for (const auto& [distance, count] : counts) misses += distance > capacity ? count : 0;
      REQUIRE(profile.misses(capacity) == misses);
    }
    // Buckets (u/2, u], from the first to the last that has something.
    std::map<std::int64_t, std::int64_t> buckets;
    for (const auto& [distance, count] : counts) {
      std::int64_t upto = 1;
      while (upto < distance) upto *= 2;
      buckets[upto] += count;
    }
    if (!buckets.empty()) {
      for (std::int64_t upto = buckets.begin()->first; upto < buckets.rbegin()->first; upto *= 2)
        buckets[upto] += 0;
    }
    std::map<std::int64_t, std::int64_t> histogram;
    for (const ReuseProfile::Point& point : profile.histogram()) {
      REQUIRE_FALSE(histogram.contains(point.bytes));
      histogram[point.bytes] = point.count;
    }
    if (counts.size() == profile.distances().size()) REQUIRE(histogram == buckets);
  }
}

}  // namespace attention_items_test

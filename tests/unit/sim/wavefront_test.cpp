// CTAs in time: small cases by hand, bounds that no run may break, and the causal explosion.
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/sim/reuse/lockstep.hpp>
#include <natten_sim/sim/reuse/wavefront.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;

constexpr OperandSizes kByteSizes = {
    .head_dim = 4, .head_dim_value = 4, .element_bytes = 1, .sector_bytes = 4};

SplitQProblem problem_1d(std::int64_t length, std::int64_t q_tile, std::int64_t kv_tile, bool causal,
                         const OperandSizes& sizes = kByteSizes) {
  return {.mask = make_mask({length}, {length}, {}, {}, {causal}),
          .tiles = {{q_tile}, {kv_tile}},
          .sizes = sizes};
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

/// Q tile 10 rows = 40 bytes, KV tile 10 rows = 80 bytes, O 40 bytes.
constexpr WavefrontDevice kSlow = {.capacity_bytes = 1 << 20,
                                   .sms = 1,
                                   .hit_bytes_per_ns = 80,
                                   .miss_bytes_per_ns = 40,
                                   .dram_bytes_per_ns = 20,
                                   .pairs_per_ns = 10};  // 100 pairs a tile: 10 ns

TEST_CASE("one CTA without lookahead pays each miss and each multiplication in turn") {
  const AttentionWork work(problem_1d(20, 10, 10, false), {.workers = 1});
  const WavefrontRun run = run_wavefront(work, kSlow, {.lookahead_tiles = 0});
  // Item 0: Q asked for at 0, in the cache at 40/20 = 2. KV 0 at 2 + 4 = 6, multiplied until 16. KV 1 asked
  // for at 16, there at 20, multiplied until 30. O stored at 30: DRAM busy until 32. Item 1: Q at 30:
  // DRAM 32..34. KV 0 hits: port free at 31 (Q: 40/40), 32; ready with Q at 34; until 44. KV 1 asked for at
  // 44, hit, port 45; until 55.
  CHECK(near(run.time_ns, 55));
  CHECK(run.load_sectors == (2 * 40 + 4 * 80) / 4);
  CHECK(run.load_miss_sectors == (2 * 40 + 2 * 80) / 4);
  CHECK(run.store_sectors == 2 * 40 / 4);
  CHECK(near(run.dram_busy_ns, (2 * 40 + 2 * 80 + 2 * 40) / 20.0));
}

TEST_CASE("lookahead hides the second miss behind the first multiplication") {
  const AttentionWork work(problem_1d(20, 20, 10, false), {.workers = 1});
  // Q: 80 bytes, in at 4. Without: KV 0 in at 8, 20 ns each; KV 1 asked for at 28, in at 32. With: in at 12.
  CHECK(near(run_wavefront(work, kSlow, {.lookahead_tiles = 0}).time_ns, 8 + 20 + 4 + 20));
  CHECK(near(run_wavefront(work, kSlow, {.lookahead_tiles = 1}).time_ns, 8 + 20 + 20));
}

TEST_CASE("a second request for a tile in flight waits for it and reads nothing") {
  WavefrontDevice device = kSlow;
  device.sms = 2;
  const AttentionWork work(problem_1d(20, 10, 10, false), {.workers = 2});
  const WavefrontRun run = run_wavefront(work, device, {.lookahead_tiles = 0});
  // Both CTAs want KV 0 at time 0; one reads it. They stay in step.
  CHECK(run.load_miss_sectors == (2 * 40 + 2 * 80) / 4);
  CHECK(run.in_flight_sectors == 2 * 80 / 4);
}

TEST_CASE("CTAs of one SM share its multiplications, those of two SMs do not") {
  WavefrontDevice device = kSlow;
  device.dram_bytes_per_ns = device.hit_bytes_per_ns = device.miss_bytes_per_ns = 1e9;  // only compute counts
  const AttentionWork work(problem_1d(40, 20, 10, false), {.workers = 2});
  CHECK(std::abs(run_wavefront(work, device).time_ns - 2 * 4 * 20) < 1e-3);
  device.sms = 2;
  CHECK(std::abs(run_wavefront(work, device).time_ns - 4 * 20) < 1e-3);
}

/// Nothing but compute counts; 20 x 10 pairs a tile, 10 pairs a ns: 20 ns.
WavefrontDevice compute_only() {
  WavefrontDevice device = kSlow;
  device.dram_bytes_per_ns = device.hit_bytes_per_ns = device.miss_bytes_per_ns = 1e9;
  return device;
}

TEST_CASE("a CTA alone on its SM reaches its lone share of the SM's rate, two together all of it") {
  WavefrontDevice device = compute_only();
  device.lone_share = 0.8;
  // Three items of 6 tiles, two slots: two items together at 40 ns a tile, then the third alone at 25 ns.
  const AttentionWork work(problem_1d(60, 20, 10, false), {.workers = 2});
  CHECK(std::abs(run_wavefront(work, device).time_ns - (6 * 40 + 6 * 25)) < 1e-3);
}

TEST_CASE("slots of an SM drift apart as their skew says, and a slot left alone speeds up") {
  WavefrontDevice device = compute_only();
  device.slot_skew = 0.2;
  // Tile times 0.9 and 1.1 of 40 ns. The first slot ends 6 tiles at 216; the second has done 216/44 of its 6
  // and does the rest alone: 20 ns a tile, times its slowness.
  const AttentionWork work(problem_1d(60, 30, 10, false), {.workers = 2});
  const double tile = 2 * 30 * 10 / 10.0;
  const double first = 6 * 0.9 * tile;
  const double left = 6 - first / (1.1 * tile);
  CHECK(std::abs(run_wavefront(work, device).time_ns - (first + left * 1.1 * tile / 2)) < 1e-3);
}

TEST_CASE("a CTA that starts while another multiplies has done nothing before") {
  // Q tiles of 40 bytes, one KV tile of 160: from the DRAM at 2, 10 and, the other Q tile, 12. The first slot
  // has 200 pairs: 20 by 12, the rest with half of the SM until 48. The second has done 180 by then and does
  // its last 20 alone, until 50.
  const AttentionWork work(problem_1d(20, 10, 20, false), {.workers = 2});
  CHECK(near(run_wavefront(work, kSlow).time_ns, 50));
}

TEST_CASE("progress is shown once every 2^20 accesses and a few") {
  // 1,500 Q tiles, each with 1,500 KV tiles and its output: 2.25 million accesses.
  const AttentionWork work(problem_1d(1500, 1, 1, false), {.workers = 1});
  std::vector<double> shown;
  (void)run_wavefront(work, kSlow, {}, [&](double share) { shown.push_back(share); });
  REQUIRE(shown.size() == 2);
  const double step = 1048576.0 / (1500 * 1502);
  CHECK(std::abs(shown[0] - step) < 1e-4);
  CHECK(std::abs(shown[1] - 2 * step) < 1e-4);
}

TEST_CASE("a miss passes the port of its SM at the rate of misses") {
  WavefrontDevice device = kSlow;
  device.miss_bytes_per_ns = 4;
  const AttentionWork work(problem_1d(10, 10, 10, false), {.workers = 1});
  // DRAM has both tiles at 6, the port at (40 + 80) / 4 = 30; 10 ns to multiply.
  CHECK(near(run_wavefront(work, device, {.lookahead_tiles = 0}).time_ns, 30 + 10));
}

TEST_CASE("an SM reads through the partition that it is attached to") {
  WavefrontDevice device = kSlow;
  device.sms = 4;
  device.l2_partitions = 2;
  const AttentionWork work(problem_1d(20, 10, 10, false), {.workers = 2});  // on SMs 0 and 1
  // Half of each tile is at home in the other partition: of Q 5 sectors, of a KV tile 10. Two partitions
  // fetch both KV tiles twice.
  const auto fabric_sectors = [&](std::vector<std::int32_t> partition_of_sm) {
    device.partition_of_sm = std::move(partition_of_sm);
    return run_wavefront(work, device).fabric_sectors;
  };
  CHECK(fabric_sectors({}) == 2 * 5 + 2 * 10);  // SMs 0 and 1 of four
  CHECK(fabric_sectors({0, 0, 1, 1}) == 2 * 5 + 2 * 10);
  CHECK(fabric_sectors({1, 1, 0, 0}) == 2 * 5 + 2 * 10);
  CHECK(fabric_sectors({0, 1, 0, 1}) == 2 * 5 + 2 * 2 * 10);
  CHECK(fabric_sectors({0}) == 2 * 5 + 2 * 10);  // begun again for each SM
}

TEST_CASE("jitter is the standard deviation of a tile's time") {
  WavefrontDevice device = compute_only();
  device.jitter = 0.1;
  // 64 tiles of 10 ns, one after another: the whole has a standard deviation of 8 times that of a tile.
  const AttentionWork work(problem_1d(640, 640, 10, false), {.workers = 1});
  const double tile = 640 * 10 / 10.0;
  constexpr int kSeeds = 3000;
  double sum = 0, squares = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const double excess =
        (run_wavefront(work, device, {.seed = static_cast<std::uint64_t>(seed)}).time_ns - 64 * tile) / tile;
    sum += excess;
    squares += excess * excess;
  }
  const double mean = sum / kSeeds;
  // The estimate itself deviates by 1 / sqrt(2 seeds) = 1.3%, the mean by 0.8 / sqrt(seeds).
  CHECK(std::abs(std::sqrt(squares / kSeeds - mean * mean) / (0.1 * 8) - 1) < 0.06);
  CHECK(std::abs(mean) < 5 * 0.8 / std::sqrt(kSeeds));
}

TEST_CASE("whatever the rates, loads are the traffic, misses lie between cold and loads, times have floors") {
  std::uint64_t state = 1;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  for (int i = 0; i < 300; ++i) {
    OperandSizes sizes = kByteSizes;
    sizes.heads = 1 + static_cast<std::int64_t>(random(4));
    sizes.heads_kv = random(2) == 0 ? 1 : sizes.heads;
    const bool causal = random(2) == 0;
    const SplitQProblem problem =
        problem_1d(1 + static_cast<std::int64_t>(random(60)), 1 + static_cast<std::int64_t>(random(12)),
                   1 + static_cast<std::int64_t>(random(12)), causal, sizes);
    AttentionSchedule schedule;
    schedule.schedule = static_cast<CtaSchedule>(random(3));
    schedule.order = static_cast<KvOrder>(random(3));
    schedule.workers = 1 + static_cast<std::int32_t>(random(9));
    const WavefrontDevice device{.capacity_bytes = static_cast<std::int64_t>(random(2000)),
                                 .sms = 1 + static_cast<std::int32_t>(random(4)),
                                 .hit_bytes_per_ns = 1.0 + static_cast<double>(random(50)),
                                 .miss_bytes_per_ns = 1.0 + static_cast<double>(random(50)),
                                 .dram_bytes_per_ns = 1.0 + static_cast<double>(random(50)),
                                 .pairs_per_ns = 1.0 + static_cast<double>(random(50)),
                                 .lone_share = random(2) == 0 ? 1 : 0.7,
                                 .slot_skew = random(2) == 0 ? 0 : 0.1,
                                 .jitter = random(2) == 0 ? 0 : 0.2};
    const WavefrontOptions options{.lookahead_tiles = static_cast<std::int32_t>(random(4)),
                                   .seed = random(100),
                                   .record_distances = true};
    const AttentionWork work(problem, schedule);
    const WavefrontRun run = run_wavefront(work, device, options);
    const AttentionTraffic traffic = attention_traffic(problem);
    INFO("case " << i);
    CHECK(run.load_sectors == traffic.sectors.q + traffic.sectors.k + traffic.sectors.v);
    CHECK(run.store_sectors == traffic.sectors.o);
    CHECK(run.load_miss_sectors >= traffic.cold.q + traffic.cold.k + traffic.cold.v);
    CHECK(run.load_miss_sectors <= run.load_sectors);
    CHECK(run.time_ns + 1e-6 >= run.dram_busy_ns - static_cast<double>(problem.tiles.q_tile[0] * 4 * 9) /
                                                       device.dram_bytes_per_ns);  // stores may end later
    double pairs = 0;
    for (std::int64_t k = 0; k < work.items(); ++k) {
      const auto item = work.item(k);
      for (std::int64_t s = 0; s < item.kv_tiles; ++s)
        pairs += static_cast<double>(work.multiplied_pairs(item, work.key_value(item, 0, s)));
    }
    // The slowest slot is faster than its share by no more than half the skew, a jittered tile by 0.35.
    CHECK(run.time_ns * 1.5 >= pairs / device.pairs_per_ns / device.sms);
    // The list of held tiles and the stack distances of the same accesses are two programs for one cache.
    CHECK(run.profile->misses(device.capacity_bytes) == run.load_miss_sectors + run.store_sectors);
    const WavefrontRun again = run_wavefront(work, device, options);
    CHECK(again.time_ns == run.time_ns);
    CHECK(again.load_miss_sectors == run.load_miss_sectors);
    WavefrontDevice vast = device;
    vast.capacity_bytes = 1 << 30;
    CHECK(run_wavefront(work, vast, options).load_miss_sectors == traffic.cold.total - traffic.cold.o);
    vast.capacity_bytes = 0;
    CHECK(run_wavefront(work, vast, options).load_miss_sectors == run.load_sectors);
  }
}

TEST_CASE("CTAs of equal length stay in lockstep and read one pass of K and V a wave") {
  // 4 waves of 8 CTAs on 8 SMs, cache far smaller than K and V.
  const SplitQProblem problem = problem_1d(32 * 16, 16, 16, false);
  WavefrontDevice device = kSlow;
  device.sms = 8;
  device.capacity_bytes = 2048;
  const AttentionWork work(problem, {.workers = 8});
  const WavefrontRun run = run_wavefront(work, device, {.lookahead_tiles = 2});
  const AttentionTraffic traffic = attention_traffic(problem);
  CHECK(run.load_miss_sectors == traffic.cold.q + 4 * (traffic.cold.k + traffic.cold.v));
}

TEST_CASE("in lockstep two partitions read what one cache of their size reads, and each byte crosses once") {
  const SplitQProblem problem = problem_1d(32 * 16, 16, 16, false);
  WavefrontDevice device = kSlow;
  device.sms = 8;
  device.capacity_bytes = 2048;
  const AttentionWork work(problem, {.workers = 8});
  const WavefrontRun one = run_wavefront(work, device, {.lookahead_tiles = 2});
  CHECK(one.fabric_sectors == 0);
  using Partitions = std::vector<std::int32_t>;
  for (const Partitions& partition_of_sm :
       {Partitions{}, {0, 1}, {0, 0, 1, 1}, {1, 0, 0, 1, 1, 1, 0, 0}, {0, 0, 0, 0, 0, 1}}) {
    device.l2_partitions = 2;
    device.partition_of_sm = partition_of_sm;
    const WavefrontRun two = run_wavefront(work, device, {.lookahead_tiles = 2});
    INFO(partition_of_sm.size() << " SMs listed");
    CHECK(two.load_miss_sectors == one.load_miss_sectors);
    // K and V are asked for by both sides, so each half crosses once a reading; half of each Q tile crosses.
    const AttentionTraffic traffic = attention_traffic(problem);
    CHECK(two.fabric_sectors == traffic.cold.q / 2 + 4 * (traffic.cold.k + traffic.cold.v));
  }
}

/// An H200 at half its size in every respect: 66 SMs, half the cache, half the rates, so half the length.
struct Explosion {
  double times_kv;
  double time_ns;
};

Explosion times_kv(bool causal, bool longest_first, std::int64_t capacity) {
  const OperandSizes sizes{.head_dim = 128, .head_dim_value = 128};
  const SplitQProblem problem = problem_1d(65536, 128, 128, causal, sizes);
  const WavefrontDevice device{.capacity_bytes = capacity,
                               .sms = 66,
                               .hit_bytes_per_ns = 65.9,
                               .miss_bytes_per_ns = 44.3,
                               .dram_bytes_per_ns = 2150,
                               .pairs_per_ns = 5.0e12 / 1e9 / 512};
  const AttentionWork work(problem, {.schedule = CtaSchedule::kGrid,
                                     .order = KvOrder::kDescending,
                                     .workers = 66,
                                     .last_q_tile_first = longest_first});
  const WavefrontRun run = run_wavefront(work, device, {.lookahead_tiles = 2});
  return {static_cast<double>(run.load_miss_sectors) * 32 / static_cast<double>(kv_head_bytes(problem)),
          run.time_ns};
}

TEST_CASE("unequal CTAs drift apart and read K and V from DRAM a hundredfold, beyond the capacity only") {
  constexpr std::int64_t kHalfCapacity = 30'723'277 / 2;
  const double full = times_kv(false, false, kHalfCapacity).times_kv;
  const double causal = times_kv(true, false, kHalfCapacity).times_kv;
  CHECK(full < 8 + 1);                                       // 512 Q tiles, 7.8 waves of 66; half a KV for Q
  CHECK(causal > 100);                                       // of 256.5 that all CTAs load together
  CHECK(times_kv(true, false, 40 << 20).times_kv < 1.6);     // K and V fit
  CHECK(times_kv(true, true, kHalfCapacity).times_kv < 10);  // longest first: CTAs start together
}

TEST_CASE("a device that cannot be is refused") {
  const AttentionWork work(problem_1d(20, 10, 10, false), {});
  WavefrontDevice device = kSlow;
  device.dram_bytes_per_ns = 0;
  CHECK_THROWS_AS(run_wavefront(work, device), InvalidParameter);
  device.dram_bytes_per_ns = std::nan("");
  CHECK_THROWS_AS(run_wavefront(work, device), InvalidParameter);
  device = kSlow;
  device.sms = 0;
  CHECK_THROWS_AS(run_wavefront(work, device), InvalidParameter);
  CHECK_THROWS_AS(run_wavefront(work, kSlow, {.lookahead_tiles = -1}), InvalidParameter);
  for (const auto& break_it : std::vector<std::function<void(WavefrontDevice&)>>{
           [](WavefrontDevice& d) { d.jitter = 0.9; }, [](WavefrontDevice& d) { d.jitter = std::nan(""); },
           [](WavefrontDevice& d) { d.lone_share = 0; }, [](WavefrontDevice& d) { d.lone_share = 1.1; },
           [](WavefrontDevice& d) { d.slot_skew = 1; }, [](WavefrontDevice& d) { d.partition_of_sm = {0, d.l2_partitions}; },
           [](WavefrontDevice& d) { d.partition_of_sm = {-1}; },
           [](WavefrontDevice& d) { d.l2_partitions = 0; }, [](WavefrontDevice& d) { d.l2_ways = 0; }}) {
    WavefrontDevice broken = kSlow;
    break_it(broken);
    CHECK_THROWS_AS(run_wavefront(work, broken), InvalidParameter);
  }
}

}  // namespace

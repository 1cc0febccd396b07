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

namespace wavefront_test {

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

/// Tiles of 10 rows: 40 bytes each of Q, K, V and O.
constexpr WavefrontDevice kSlow = {.capacity_bytes = 1 << 20,
                                   .sms = 1,
                                   .hit_bytes_per_ns = 80,
                                   .miss_bytes_per_ns = 40,
                                   .dram_bytes_per_ns = 20,
                                   .pairs_per_ns = 10};  // 100 pairs a tile: 5 ns by K and 5 by V

TEST_CASE("a CTA of one stage asks for V while it multiplies by K, and for the next K while by V") {
  const AttentionWork work(problem_1d(20, 10, 10, false), {.workers = 1});
  const WavefrontRun run = run_wavefront(work, kSlow, {.stages = 1});
  // Item 0: Q asked for at 0, in the cache at 40/20 = 2; K 0 at 4, here 40/80 later. Four phases without a
  // gap, 4.5 to 24.5: V 0 is asked for at 4.5 and here at 7, K 1 at 9.5 and 12, V 1 at 14.5 and 17. O stored
  // at 24.5: DRAM busy until 26.5. Item 1: its Q in the cache at 28.5, here at 29; K and V are hits. Four
  // phases from 29 on.
  CHECK(near(run.time_ns, 49));
  CHECK(run.load_sectors == (2 * 40 + 4 * 80) / 4);
  CHECK(run.load_miss_sectors == (2 * 40 + 2 * 80) / 4);
  CHECK(run.store_sectors == 2 * 40 / 4);
  CHECK(near(run.dram_busy_ns, (2 * 40 + 2 * 80 + 2 * 40) / 20.0));
}

TEST_CASE("a second stage hides the latency of DRAM behind multiplications") {
  WavefrontDevice device = kSlow;
  device.dram_latency_ns = {15, 15, 15, 15};
  const AttentionWork work(problem_1d(20, 20, 10, false), {.workers = 1});  // phases of 10 ns
  // Each operand comes 2 + 15 + 0.5 ns after it was asked for, the first behind the 4 ns of Q: K 0 at 21.5.
  // One stage: V 0 is asked for then, at 39 K 1, at 56.5 V 1, which is here at 74.
  CHECK(near(run_wavefront(work, device, {.stages = 1}).time_ns, 74 + 10));
  // Two stages: K 0, V 0 and K 1 are asked for at 0, V 1 at 21.5: nothing waits any more.
  CHECK(near(run_wavefront(work, device, {.stages = 2}).time_ns, 21.5 + 4 * 10));
}

TEST_CASE(
    "what the L2 holds comes a hit's latency later, and the share of scores moves the middle of a tile") {
  WavefrontDevice device = kSlow;
  device.hit_latency_ns = 7;
  const AttentionWork work(problem_1d(10, 10, 10, false), {.workers = 1});
  // K here at 4.5 + 7, V asked for then: in the cache at 13.5, here at 21.
  device.score_share = 0.3;
  CHECK(near(run_wavefront(work, device).time_ns, 21 + 7));
  device.score_share = 0.96;  // by K until 21.1
  CHECK(near(run_wavefront(work, device).time_ns, 11.5 + 10));
}

TEST_CASE("a second request for a tile in flight waits for it and reads nothing") {
  WavefrontDevice device = kSlow;
  device.sms = 2;
  device.dram_latency_ns = {5, 5, 5, 5};
  const AttentionWork work(problem_1d(20, 10, 10, false), {.workers = 2});
  const WavefrontRun run = run_wavefront(work, device, {.stages = 1});
  // Both CTAs want K 0 at time 0; one reads it. V 0 is on its way when the second, whose Q came 2 ns later,
  // asks for it; it comes for both at once, and they stay in step.
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

TEST_CASE(
    "of the CTAs of a grid the one that came first is served first, of persistent ones the first slot's") {
  WavefrontDevice device = compute_only();
  device.slot_skew = 0.2;
  // Three items of 6 tiles, two slots: 36 and 44 ns a tile. At 216 the first slot takes the third item. Its
  // CTA is the younger one now.
  const AttentionWork grid(problem_1d(60, 20, 10, false), {.schedule = CtaSchedule::kGrid, .workers = 2});
  const double left = (6 - 216 / 44.0) * 36, done = left / 44;
  CHECK(std::abs(run_wavefront(grid, device).time_ns - (216 + left + (6 - done) * 22)) < 1e-3);
  const AttentionWork persistent(problem_1d(60, 20, 10, false), {.workers = 2});
  const double left_still = 6 * 44 - 216, done_then = left_still / 36;
  CHECK(std::abs(run_wavefront(persistent, device).time_ns - (216 + left_still + (6 - done_then) * 18)) <
        1e-3);
}

TEST_CASE("a CTA that starts while another multiplies has done nothing before") {
  // Q tiles of 40 bytes, one KV tile of 80 + 80: Q and K here at 2.5 and 7, the other Q at 8.5. Phases of 100
  // pairs. The first slot does 15 until 8.5, the rest with half of the SM until 25.5. The second has 15 left
  // then, until 28.5; the first ends its V phase at 45.5, and the second the last 15 pairs alone, at 47.
  const AttentionWork work(problem_1d(20, 10, 20, false), {.workers = 2});
  CHECK(near(run_wavefront(work, kSlow).time_ns, 47));
}

TEST_CASE("progress is shown once every 2^20 accesses and a few") {
  // 1,500 Q tiles, each with 1,500 tiles of K and of V, and its output: 4.5 million accesses.
  const AttentionWork work(problem_1d(1500, 1, 1, false), {.workers = 1});
  std::vector<double> shown;
  (void)run_wavefront(work, kSlow, {}, [&](double share) { shown.push_back(share); });
  REQUIRE(shown.size() == 4);
  const double step = 1048576.0 / (2 * 1500 * 1502);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(shown[i] - static_cast<double>(i + 1) * step) < 1e-4);
}

TEST_CASE("a miss passes the port of its SM at the rate of misses") {
  WavefrontDevice device = kSlow;
  device.miss_bytes_per_ns = 4;
  const AttentionWork work(problem_1d(10, 10, 10, false), {.workers = 1});
  // The port has Q and K at (40 + 40) / 4 = 20, and V 10 later; 5 ns to multiply by it.
  CHECK(near(run_wavefront(work, device).time_ns, 30 + 5));
}

TEST_CASE("an SM reads through the partition that it is attached to") {
  WavefrontDevice device = kSlow;
  device.sms = 4;
  device.l2_partitions = 2;
  const AttentionWork work(problem_1d(20, 10, 10, false), {.workers = 2});  // on SMs 0 and 1
  // Half of each tile is at home in the other partition: of Q and of O 5 sectors, of a KV tile 10. Two
  // partitions fetch both KV tiles twice.
  const auto fabric_sectors = [&](std::vector<std::int32_t> partition_of_sm) {
    device.partition_of_sm = std::move(partition_of_sm);
    return run_wavefront(work, device).fabric_sectors;
  };
  CHECK(fabric_sectors({}) == 2 * (5 + 5) + 2 * 10);  // SMs 0 and 1 of four
  CHECK(fabric_sectors({0, 0, 1, 1}) == 2 * (5 + 5) + 2 * 10);
  CHECK(fabric_sectors({1, 1, 0, 0}) == 2 * (5 + 5) + 2 * 10);
  CHECK(fabric_sectors({0, 1, 0, 1}) == 2 * (5 + 5) + 2 * 2 * 10);
  CHECK(fabric_sectors({0}) == 2 * (5 + 5) + 2 * 10);  // begun again for each SM
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
                                 .hit_latency_ns = static_cast<double>(random(20)),
                                 .dram_latency_ns = {static_cast<double>(random(50)), 50, 70, 200},
                                 .pairs_per_ns = 1.0 + static_cast<double>(random(50)),
                                 .lone_share = random(2) == 0 ? 1 : 0.7,
                                 .slot_skew = random(2) == 0 ? 0 : 0.1,
                                 .jitter = random(2) == 0 ? 0 : 0.2};
    const WavefrontOptions options{
        .stages = 1 + static_cast<std::int32_t>(random(4)), .seed = random(100), .record_distances = true};
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
        pairs += static_cast<double>(work.multiplied_pairs(item, work.key(item, 0, s)));
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
  const WavefrontRun run = run_wavefront(work, device, {.stages = 2});
  const AttentionTraffic traffic = attention_traffic(problem);
  CHECK(run.load_miss_sectors == traffic.cold.q + 4 * (traffic.cold.k + traffic.cold.v));
}

TEST_CASE("in lockstep two partitions read what one cache of their size reads, and each byte crosses once") {
  const SplitQProblem problem = problem_1d(32 * 16, 16, 16, false);
  WavefrontDevice device = kSlow;
  device.sms = 8;
  device.capacity_bytes = 2048;
  const AttentionWork work(problem, {.workers = 8});
  const WavefrontRun one = run_wavefront(work, device, {.stages = 2});
  CHECK(one.fabric_sectors == 0);
  using Partitions = std::vector<std::int32_t>;
  for (const Partitions& partition_of_sm :
       {Partitions{}, {0, 1}, {0, 0, 1, 1}, {1, 0, 0, 1, 1, 1, 0, 0}, {0, 0, 0, 0, 0, 1}}) {
    device.l2_partitions = 2;
    device.partition_of_sm = partition_of_sm;
    const WavefrontRun two = run_wavefront(work, device, {.stages = 2});
    INFO(partition_of_sm.size() << " SMs listed");
    CHECK(two.load_miss_sectors == one.load_miss_sectors);
    // K and V are asked for by both sides, so each half crosses once a reading; half of each Q tile and of
    // each O tile, which is as large, crosses.
    const AttentionTraffic traffic = attention_traffic(problem);
    CHECK(two.fabric_sectors ==
          (traffic.cold.q + traffic.cold.o) / 2 + 4 * (traffic.cold.k + traffic.cold.v));
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
  const WavefrontRun run = run_wavefront(work, device, {.stages = 2});
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

TEST_CASE("an SM takes no more workers than its share") {
  const AttentionWork work(problem_1d(40, 10, 10, false), {.workers = 4});
  WavefrontDevice device = kSlow;
  device.sms = 2;
  for (const auto& [listed, fits] : {std::pair<std::vector<std::int32_t>, bool>{{0, 1, 1, 0}, true},
                                     {{0, 0, 0, 1}, false},
                                     {{0, 1, 0}, false},
                                     {{0, 0, 1, 1, 1}, false}}) {
    device.sm_of_worker = listed;
    CAPTURE(listed);
    if (fits) CHECK_NOTHROW(run_wavefront(work, device));
    if (!fits) CHECK_THROWS_AS(run_wavefront(work, device), InvalidParameter);
  }
}

TEST_CASE("a profile of distances holds the sectors that neighbouring tiles share") {
  // Rows of 6 bytes in sectors of 4: a tile of 3 rows, 18 bytes, ends inside a sector.
  constexpr OperandSizes kOdd = {.head_dim = 6, .head_dim_value = 6, .element_bytes = 1, .sector_bytes = 4};
  const AttentionWork work(problem_1d(15, 3, 3, false, kOdd), {.workers = 2});
  const WavefrontRun run = run_wavefront(work, kSlow, {.record_distances = true});
  CHECK(run.profile->misses(0) == run.load_sectors + run.store_sectors);
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
  CHECK_THROWS_AS(run_wavefront(work, kSlow, {.stages = 0}), InvalidParameter);
  for (const auto& break_it : std::vector<std::function<void(WavefrontDevice&)>>{
           [](WavefrontDevice& d) { d.jitter = 0.9; }, [](WavefrontDevice& d) { d.jitter = std::nan(""); },
           [](WavefrontDevice& d) { d.lone_share = 0; }, [](WavefrontDevice& d) { d.lone_share = 1.1; },
           [](WavefrontDevice& d) { d.slot_skew = 1; },
           [](WavefrontDevice& d) {
             d.partition_of_sm = {0, d.l2_partitions};
           },
           [](WavefrontDevice& d) { d.partition_of_sm = {-1}; },
           [](WavefrontDevice& d) { d.l2_partitions = 0; }, [](WavefrontDevice& d) { d.l2_ways = 0; }}) {
    WavefrontDevice broken = kSlow;
    break_it(broken);
    CHECK_THROWS_AS(run_wavefront(work, broken), InvalidParameter);
  }
}

}  // namespace wavefront_test

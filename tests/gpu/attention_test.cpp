// Every variant of the attention kernel against the CPU oracle, on fresh random inputs and poisoned outputs.
#include <chrono>
#include <string>

#include <natten_sim/kernels/attention/attention.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::kernels;

/// A new seed a run, printed when a check fails.
std::uint64_t fresh_seed() {
  static std::uint64_t seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  return ++seed;
}

const GpuInfo& gpu() {
  static const GpuInfo info = open_gpu();
  return info;
}

void check(const AttentionProblem& problem, const AttentionVariant& variant, std::int64_t most_rows) {
  const std::uint64_t seed = fresh_seed();
  const AttentionBuffers buffers = random_attention_buffers(problem, seed);
  launch_attention(gpu(), problem, variant, buffers);
  const AttentionError error = check_attention(problem, buffers, sampled_rows(problem, most_rows, seed));
  INFO("seed " << seed << ", " << to_string(problem.dtype) << ", batch " << problem.batch << ", heads "
               << problem.heads << "/" << problem.heads_kv << ", tokens " << problem.tokens << ", head dim "
               << problem.head_dim << (problem.causal ? ", causal" : ", full") << ", "
               << to_string(variant.engine) << ", tiles " << variant.q_tile << "x" << variant.kv_tile
               << ", stages " << variant.stages << ", " << variant.ctas_per_sm << " CTAs an SM, "
               << to_string(variant.schedule) << ", " << to_string(variant.walk)
               << (variant.last_q_tile_first ? ", last first" : "") << ": error " << error.kernel
               << ", naive " << error.naive << ", unwritten " << error.unwritten);
  CHECK(error.unwritten == 0);
  CHECK(error.within_bound());
}

/// wgmma runs on sm_90 alone.
bool runs_here(const AttentionTiles& tiles) {
  return tiles.engine != AttentionEngine::kWgmma || (gpu().compute_major == 9 && gpu().compute_minor == 0);
}

AttentionVariant variant_of(const AttentionTiles& tiles) {
  AttentionVariant variant;
  variant.q_tile = tiles.q_tile;
  variant.kv_tile = tiles.kv_tile;
  variant.stages = tiles.stages;
  variant.ctas_per_sm = tiles.max_ctas_per_sm;
  variant.engine = tiles.engine;
  return variant;
}

template <typename Visit>
void for_each_variant(Visit visit) {
  for (const AttentionTiles& tiles : attention_tiles()) {
    if (!runs_here(tiles)) continue;
    for (const CtaSchedule schedule : {CtaSchedule::kPersistent, CtaSchedule::kGrid, CtaSchedule::kTile}) {
      if (tiles.engine == AttentionEngine::kWgmma && schedule == CtaSchedule::kTile) continue;
      for (const KvOrder walk : {KvOrder::kCyclic, KvOrder::kSawtooth, KvOrder::kDescending}) {
        for (const bool causal : {false, true}) {
          AttentionVariant variant = variant_of(tiles);
          variant.schedule = schedule;
          variant.walk = walk;
          variant.last_q_tile_first = causal && walk == KvOrder::kDescending;
          visit(tiles, variant, causal);
        }
      }
    }
  }
}

// Small and quick, for compute-sanitizer as well.
TEST_CASE("every variant agrees with the oracle on a short, ragged sequence", "[sanitize]") {
  for_each_variant([](const AttentionTiles& tiles, const AttentionVariant& variant, bool causal) {
    for (const Dtype dtype : {Dtype::kFp16, Dtype::kBf16}) {
      check({2, 2, 1, 193, tiles.head_dim, dtype, causal}, variant, 24);
    }
  });
}

TEST_CASE("every variant agrees with the oracle on several waves of Q tiles, with GQA") {
  for_each_variant([](const AttentionTiles& tiles, const AttentionVariant& variant, bool causal) {
    check({2, 24, 8, 1111, tiles.head_dim, Dtype::kBf16, causal}, variant, 48);
  });
}

TEST_CASE("every length from one token on agrees with the oracle") {
  for (const AttentionTiles& tiles : attention_tiles()) {
    if (!runs_here(tiles)) continue;
    for (const std::int64_t tokens : {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 640}) {
      for (const bool causal : {false, true}) {
        for (const Dtype dtype : {Dtype::kFp16, Dtype::kBf16}) {
          AttentionVariant variant = variant_of(tiles);
          variant.ctas_per_sm = 1;
          check({1, 3, 1, tokens, tiles.head_dim, dtype, causal}, variant, 64);
        }
      }
    }
  }
}

TEST_CASE("long sequences agree with the oracle on sampled rows") {
  for (const std::int64_t head_dim : {64, 128}) {
    for (const bool causal : {false, true}) {
      check({1, 2, 1, 40000, head_dim, Dtype::kBf16, causal}, AttentionVariant{}, 24);
    }
  }
}

TEST_CASE("a persistent launch on some SMs agrees with the oracle, and one on too many is refused") {
  AttentionVariant variant;
  variant.ctas_per_sm = 1;
  for (const int ctas : {1, 3, gpu().sms}) {
    variant.ctas = ctas;
    for (const KvOrder walk : {KvOrder::kCyclic, KvOrder::kSawtooth}) {
      variant.walk = walk;
      check({1, 2, 1, 1500, 128, Dtype::kBf16, false}, variant, 48);
    }
  }
  variant.ctas = gpu().sms + 1;
  const AttentionProblem problem{1, 1, 1, 200, 128, Dtype::kBf16, false};
  const AttentionBuffers buffers = random_attention_buffers(problem, fresh_seed());
  CHECK_THROWS_AS(launch_attention(gpu(), problem, variant, buffers), HardwareAbsent);
}

TEST_CASE("intervals of the wgmma engine are of every item, in order of time, on the SM that ran it") {
  AttentionVariant variant;
  for (const AttentionTiles& tiles : attention_tiles()) {
    if (tiles.engine != AttentionEngine::kWgmma || !runs_here(tiles)) continue;
    variant = variant_of(tiles);
    const AttentionProblem problem{2, 3, 3, 3000, tiles.head_dim, Dtype::kBf16, false};
    const AttentionBuffers buffers = random_attention_buffers(problem, fresh_seed());
    const std::int64_t items = (3000 + tiles.q_tile - 1) / tiles.q_tile * 6;
    DeviceBuffer on_gpu(static_cast<std::size_t>(items) * sizeof(ItemInterval));
    on_gpu.fill(0xff);
    variant.ctas = 7;
    launch_attention(gpu(), problem, variant, buffers, &on_gpu);
    synchronize();
    std::vector<ItemInterval> intervals(static_cast<std::size_t>(items));
    on_gpu.copy_to_host(intervals.data(), on_gpu.bytes());
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      INFO("head dim " << tiles.head_dim << ", item " << i);
      CHECK(intervals[i].cta == i % 7);
      CHECK(intervals[i].sm < static_cast<std::uint32_t>(gpu().sms));
      CHECK(intervals[i].begin_ns < intervals[i].end_ns);
      if (i >= 7) CHECK(intervals[i - 7].end_ns <= intervals[i].begin_ns);
    }
    CHECK(check_attention(problem, buffers, sampled_rows(problem, 24, 1)).within_bound());
  }
}

TEST_CASE("the kernel that marks middles tells how long K takes to arrive, where an item has that tile") {
  AttentionVariant variant;
  variant.stages = 2;
  // It asks in its tile kWaitedTile for the one two further on: of 15 tiles there is none, of 16 there is.
  for (const std::int64_t tiles : {15, 16, 40}) {
    const AttentionProblem problem{1, 1, 1, tiles * variant.kv_tile, 128, Dtype::kBf16, false};
    const AttentionBuffers buffers = random_attention_buffers(problem, fresh_seed());
    std::vector<ItemInterval> intervals(
        static_cast<std::size_t>((problem.tokens + variant.q_tile - 1) / variant.q_tile));
    DeviceBuffer on_gpu(intervals.size() * sizeof(ItemInterval));
    for (const bool middles : {false, true}) {
      INFO(tiles << " tiles, middles " << middles);
      on_gpu.fill(0);
      prepare_attention(gpu(), problem, variant, buffers, middles)(&on_gpu);
      synchronize();
      on_gpu.copy_to_host(intervals.data(), on_gpu.bytes());
      for (const ItemInterval& each : intervals) {
        CHECK((each.arrival_cycles > 0) == (middles && tiles > kWaitedTile + variant.stages));
        CHECK(each.arrival_cycles < each.end_cycle - each.begin_cycle);
      }
      CHECK(check_attention(problem, buffers, sampled_rows(problem, 24, 1)).within_bound());
    }
  }
}

TEST_CASE("large scores neither overflow nor lose rows") {
  // All queries and keys alike and long: every score is the same and large, so O is the mean of V.
  const AttentionProblem problem{1, 1, 1, 300, 128, Dtype::kFp16, false};
  AttentionBuffers buffers = random_attention_buffers(problem, fresh_seed());
  const std::vector<std::uint16_t> eights(static_cast<std::size_t>(problem.query_elements()), 0x4800);  // 8.0
  buffers.q.copy_from_host(eights.data(), eights.size() * 2);
  buffers.k.copy_from_host(eights.data(), eights.size() * 2);
  launch_attention(gpu(), problem, AttentionVariant{}, buffers);
  const AttentionError error = check_attention(problem, buffers, sampled_rows(problem, 300, 1));
  INFO("error " << error.kernel << ", naive " << error.naive);
  CHECK(error.unwritten == 0);
  // The naive way rounds each of the 300 equal probabilities alike; the kernel's are exactly 1.
  CHECK(error.kernel < 0.01);
}

TEST_CASE("a check fails when one row of O is not written") {
  const AttentionProblem problem{1, 1, 1, 200, 64, Dtype::kBf16, false};
  AttentionBuffers buffers = random_attention_buffers(problem, fresh_seed());
  launch_attention(gpu(), problem, AttentionVariant{}, buffers);
  synchronize();
  const std::vector<std::uint16_t> nan(64, 0xffff);
  buffers.o.copy_from_host(nan.data(), nan.size() * 2, 77 * 64 * 2);
  CHECK(check_attention(problem, buffers, {0}).unwritten == 64);
}

TEST_CASE("a check fails when one element of O is off by a tenth") {
  const AttentionProblem problem{1, 1, 1, 200, 64, Dtype::kFp16, false};
  AttentionBuffers buffers = random_attention_buffers(problem, fresh_seed());
  launch_attention(gpu(), problem, AttentionVariant{}, buffers);
  synchronize();
  const std::uint16_t one = 0x3c00;
  buffers.o.copy_from_host(&one, 2, 5 * 64 * 2);
  CHECK_FALSE(check_attention(problem, buffers, {5}).within_bound());
}

}  // namespace

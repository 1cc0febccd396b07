// Ranges end where they say: the last value is taken, the next one is refused by its name.
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/sim/msda/msda.hpp>
#include <natten_sim/sim/reuse/attention_work.hpp>
#include <natten_sim/sim/reuse/partitioned_l2.hpp>
#include <natten_sim/sim/reuse/partitioned_stream.hpp>
#include <natten_sim/sim/reuse/sampled_stack_distance.hpp>
#include <natten_sim/sim/reuse/set_associative_cache.hpp>
#include <natten_sim/sim/reuse/stack_distance.hpp>
#include <natten_sim/sim/reuse/wavefront.hpp>
#include <natten_sim/sim/scatter/contention_queue.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>

#include "catch.hpp"
#include "refused.hpp"

namespace ranges_test {

using namespace natten_sim;
using test::refused;

TEST_CASE("caches of sets have 1 to 64 ways, a power of two for tree-PLRU, and 2^27 lines at most") {
  const auto cache = [](std::int64_t sets, std::int32_t ways, Replacement replacement = Replacement::kFifo) {
    return refused(
        [=] { (void)SetAssociativeCache({.sets = sets, .ways = ways, .replacement = replacement}); });
  };
  CHECK(cache(1, 1).empty());
  CHECK(cache(1, 64).empty());
  CHECK(cache(0, 1) == "sets");
  CHECK(cache(1, 0) == "ways");
  CHECK(cache(1, 65) == "ways");
  CHECK(cache((std::int64_t{1} << 27) + 1, 1) == "sets");
  CHECK(cache((std::int64_t{1} << 21) + 1, 64) == "sets");
  for (std::int32_t ways = 1; ways <= 64; ++ways) {
    const bool power = (ways & (ways - 1)) == 0;
    CHECK(cache(2, ways, Replacement::kTreePlru) == (power ? "" : "ways"));
  }
  CHECK(refused([] { (void)sets_of_capacity(64, 0, 1); }) == "ways");
  CHECK(refused([] { (void)sets_of_capacity(64, 1, 0); }) == "line_bytes");
  // Sets of 2 ways of 8 bytes: the nearest number to 40 bytes is 2.5, which is rounded up; to 39 it is 2.
  CHECK(sets_of_capacity(40, 2, 8) == 3);
  CHECK(sets_of_capacity(39, 2, 8) == 2);
  CHECK(sets_of_capacity(0, 2, 8) == 1);
  CHECK(sets_of_capacity(1, 1, 1) == 1);
}

TEST_CASE("a partitioned L2 has 1 to 8 partitions, 1 to 65,536 ways and 2^24 sets at most") {
  const auto l2 = [](const L2Shape& shape) { return refused([&] { (void)PartitionedL2(4, 64, 4, shape); }); };
  CHECK(l2({.partition_bytes = 0}).empty());
  CHECK(l2({.partition_bytes = -1}) == "capacity_bytes");
  CHECK(l2({.partition_bytes = 1024, .partitions = 0}) == "l2_partitions");
  CHECK(l2({.partition_bytes = 1024, .partitions = 8}).empty());
  CHECK(l2({.partition_bytes = 1024, .partitions = 9}) == "l2_partitions");
  CHECK(l2({.partition_bytes = 1024, .ways = 0}) == "l2_ways");
  CHECK(l2({.partition_bytes = 1024, .ways = 1}).empty());
  CHECK(l2({.partition_bytes = 1024, .ways = 65536}).empty());
  CHECK(l2({.partition_bytes = 1024, .ways = 65537}) == "l2_ways");
  CHECK(l2({.partition_bytes = ((std::int64_t{1} << 24) + 1) * 64, .ways = 1}) == "l2_bytes");
}

TEST_CASE("a stream in step has readers, whole sectors, and a bounded number of reads") {
  const auto stream = [](const std::function<void(PartitionedStream&)>& change, std::int64_t sector = 4) {
    PartitionedStream each{.steps = 2, .step_bytes = 8, .passes = 2, .readers = {{}}};
    change(each);
    return refused([&] { (void)read_in_step(each, sector, {.partition_bytes = 1024, .partitions = 2}); });
  };
  CHECK(stream([](PartitionedStream&) {}).empty());
  CHECK(stream([](PartitionedStream&) {}, 1).empty());
  CHECK(stream([](PartitionedStream&) {}, 0) == "sector_bytes");
  CHECK(stream([](PartitionedStream&) {}, (1 << 20) + 1) == "sector_bytes");
  CHECK(stream([](PartitionedStream& s) { s.step_bytes = 1 << 20; }, 1 << 20).empty());
  CHECK(stream([](PartitionedStream& s) { s.step_bytes = 4; }).empty());
  CHECK(stream([](PartitionedStream& s) { s.step_bytes = 3; }) == "step_bytes");
  CHECK(stream([](PartitionedStream& s) { s.step_bytes = 6; }) == "step_bytes");
  CHECK(stream([](PartitionedStream& s) { s.step_bytes = 1 << 30; }).empty());
  CHECK(stream([](PartitionedStream& s) { s.step_bytes = (1 << 30) + 4; }) == "step_bytes");
  CHECK(stream([](PartitionedStream& s) { s.steps = 1; }).empty());
  CHECK(stream([](PartitionedStream& s) { s.steps = 0; }) == "steps");
  CHECK(stream([](PartitionedStream& s) { s.steps = (1 << 26) + 1; }) == "steps");
  CHECK(stream([](PartitionedStream& s) { s.passes = 1; }).empty());
  CHECK(stream([](PartitionedStream& s) { s.passes = 0; }) == "passes");
  CHECK(stream([](PartitionedStream& s) { s.passes = (std::int64_t{1} << 31) + 1; }) == "passes");
  CHECK(stream([](PartitionedStream& s) { s.readers.clear(); }) == "readers");
}

TEST_CASE("stack distances are of blocks 0 to 2^28 - 1 and of 1 to 2^31 bytes, a sample of rates up to 1") {
  StackDistances distances;
  CHECK(refused([&] { distances.access(-1); }) == "block");
  CHECK(refused([&] { distances.access(std::int64_t{1} << 28); }) == "block");
  CHECK(refused([&] { distances.access(0, 0); }) == "block bytes");
  CHECK(refused([&] { distances.access(0, (std::int64_t{1} << 31) + 1); }) == "block bytes");
  CHECK(refused([&] { distances.access(0, std::int64_t{1} << 31); }).empty());
  CHECK(refused([&] { distances.access(1, 1); }).empty());
  CHECK(distances.access(0, 5) == 6);  // itself and block 1
  CHECK(refused([] { (void)SampledStackDistances(0); }) == "sample");
  CHECK(refused([] { (void)SampledStackDistances(1.001); }) == "sample");
  const SampledStackDistances all(1);
  CHECK(refused([&] { (void)all.miss_ratio(-1); }) == "capacity_bytes");
  CHECK(refused([&] { (void)all.miss_ratio(0); }).empty());
}

TEST_CASE("what the timed model takes of a device ends where it says") {
  const AttentionWork work(
      {.mask = make_mask({20}, {20}),
       .tiles = {{10}, {10}},
       .sizes = {.head_dim = 4, .head_dim_value = 4, .element_bytes = 1, .sector_bytes = 4}},
      {.workers = 2});
  const auto device = [&](const std::function<void(WavefrontDevice&, WavefrontOptions&)>& change) {
    WavefrontDevice each{.capacity_bytes = 1 << 20,
                         .sms = 2,
                         .hit_bytes_per_ns = 80,
                         .miss_bytes_per_ns = 40,
                         .dram_bytes_per_ns = 20,
                         .pairs_per_ns = 10};
    WavefrontOptions options;
    change(each, options);
    return refused([&] { (void)run_wavefront(work, each, options); });
  };
  using Device = WavefrontDevice;
  using Options = WavefrontOptions;
  CHECK(device([](Device& d, Options&) { d.sms = 1; }).empty());
  CHECK(device([](Device& d, Options&) { d.sms = 0; }) == "sms");
  CHECK(device([](Device& d, Options&) { d.hit_bytes_per_ns = 0; }) == "hit_bytes_per_ns");
  CHECK(device([](Device& d, Options&) { d.miss_bytes_per_ns = 0; }) == "miss_bytes_per_ns");
  CHECK(device([](Device& d, Options&) { d.pairs_per_ns = 0; }) == "pairs_per_ns");
  CHECK(device([](Device& d, Options&) { d.lone_share = 1; }).empty());
  CHECK(device([](Device& d, Options&) { d.lone_share = 0; }) == "lone_share");
  CHECK(device([](Device& d, Options&) { d.lone_share = 1.001; }) == "lone_share");
  CHECK(device([](Device& d, Options&) { d.slot_skew = 0.999; }).empty());
  CHECK(device([](Device& d, Options&) { d.slot_skew = -0.999; }).empty());
  CHECK(device([](Device& d, Options&) { d.slot_skew = 1; }) == "slot_skew");
  CHECK(device([](Device& d, Options&) { d.slot_skew = -1; }) == "slot_skew");
  CHECK(device([](Device& d, Options&) { d.jitter = d.item_jitter = 0.5; }).empty());
  CHECK(device([](Device& d, Options&) { d.jitter = 0.501; }) == "jitter");
  CHECK(device([](Device& d, Options&) { d.item_jitter = 0.501; }) == "item_jitter");
  CHECK(device([](Device& d, Options&) { d.item_jitter = -0.001; }) == "item_jitter");
  CHECK(device([](Device& d, Options&) { d.l2_partitions = 2, d.partition_of_sm = {0, 1}; }).empty());
  CHECK(device([](Device& d, Options&) {
          d.l2_partitions = 2, d.partition_of_sm = {0, 2};
        }) == "partition_of_sm");
  CHECK(device([](Device& d, Options&) { d.partition_of_sm = {0, -1}; }) == "partition_of_sm");
  CHECK(device([](Device& d, Options&) { d.hit_latency_ns = 1e9, d.dram_latency_ns.fill(1e9); }).empty());
  CHECK(device([](Device& d, Options&) { d.hit_latency_ns = -1; }) == "hit_latency_ns");
  CHECK(device([](Device& d, Options&) { d.dram_latency_ns.fill(1.001e9); }) == "dram_latency_ns");
  CHECK(device([](Device& d, Options&) {
          d.dram_latency_ns = {1, 2, 2, 1};
        }) == "dram_latency_ns");
  CHECK(device([](Device& d, Options&) {
          d.dram_latency_ns = {-1, 2, 2, 2};
        }) == "dram_latency_ns");
  CHECK(device([](Device& d, Options&) { d.slowness_of_sm = {0.5, -0.999}; }).empty());
  CHECK(device([](Device& d, Options&) { d.slowness_of_sm = {0, -1}; }) == "slowness_of_sm");
  CHECK(device([](Device& d, Options&) { d.score_share = 0.999; }).empty());
  CHECK(device([](Device& d, Options&) { d.score_share = 0; }) == "score_share");
  CHECK(device([](Device& d, Options&) { d.score_share = 1; }) == "score_share");
  CHECK(device([](Device&, Options& o) { o.stages = 16; }).empty());
  CHECK(device([](Device&, Options& o) { o.stages = 17; }) == "stages");
  CHECK(device([](Device&, Options& o) { o.stages = 0; }) == "stages");
}

TEST_CASE("masks of schedules have tokens, 65,536 tiles an edge and windows of 2^40 tokens at most") {
  constexpr std::int64_t kMost = std::int64_t{1} << 40, kTile = std::int64_t{1} << 24;
  const auto window = [](const SequenceTiling& tiling, const SequenceWindow& sides = {}) {
    return refused([&] { (void)window_mask(tiling, sides); });
  };
  CHECK(window({1, 1, 1, 1}).empty());
  CHECK(window({kMost, 1, kTile, 1}).empty());  // 65,536 Q tiles
  CHECK(window({kMost, 1, kTile - 1, 1}) == "q_tiles");
  CHECK(window({1, kMost, 1, kTile}).empty());
  CHECK(window({1, kMost, 1, kTile - 1}) == "kv_tiles");
  CHECK(window({4097, 65536, 1, 1}) == "tiles");  // 2^28 pairs and 65,536
  CHECK(window({0, 1, 1, 1}) == "seqlen_q");
  CHECK(window({1, 0, 1, 1}) == "seqlen_k");
  CHECK(window({1, 1, 0, 1}) == "q_tile");
  CHECK(window({1, 1, 1, 0}) == "kv_tile");
  CHECK(window({kMost + 1, 1, kTile * 2, 1}) == "seqlen_q");
  CHECK(window({1, 1, kMost, kMost}).empty());
  CHECK(window({1, 1, kMost + 1, 1}) == "q_tile");
  CHECK(window({1, 1, 1, 1}, {0, 0}).empty());
  CHECK(window({1, 1, 1, 1}, {kMost, kMost}).empty());
  CHECK(window({1, 1, 1, 1}, {-1, {}}) == "window_left");
  CHECK(window({1, 1, 1, 1}, {kMost + 1, {}}) == "window_left");
  CHECK(window({1, 1, 1, 1}, {{}, -1}) == "window_right");
  CHECK(window({1, 1, 1, 1}, {{}, kMost + 1}) == "window_right");
  CHECK(refused([] { (void)document_mask({10, 10, 1, 1}, {4, 6}); }).empty());
  CHECK(refused([] { (void)document_mask({10, 10, 1, 1}, {4, 5}); }) == "document");
  CHECK(refused([] { (void)document_mask({10, 9, 1, 1}, {4, 6}); }) == "document");
  CHECK(refused([] { (void)document_mask({10, 10, 1, 1}, {}); }) == "document");
  CHECK(refused([] { (void)document_mask({10, 10, 1, 1}, {10, 0}); }) == "document");
  CHECK(refused([] { (void)varlen_mask({10, 12, 1, 1}, {{4, 5}, {6, 7}}, {}); }).empty());
  CHECK(refused([] { (void)varlen_mask({11, 12, 1, 1}, {{4, 5}, {6, 7}}, {}); }) == "varlen");
  CHECK(refused([] { (void)varlen_mask({10, 11, 1, 1}, {{4, 5}, {6, 7}}, {}); }) == "varlen");
  CHECK(refused([] { (void)varlen_mask({10, 12, 1, 1}, {}, {}); }) == "varlen");
}

TEST_CASE("a grid of CTAs has costs, repeats and workers") {
  const std::vector<double> costs = {1, 2};
  const auto grid = [&](std::int64_t repeats, std::int64_t workers,
                        CtaSchedule schedule = CtaSchedule::kGrid) {
    return refused([&, repeats, workers, schedule] { (void)run_grid(costs, repeats, workers, schedule); });
  };
  CHECK(grid(1, 1).empty());
  CHECK(grid(0, 1) == "ctas");
  CHECK(grid(1, 0) == "workers");
  CHECK(grid(1, 1, CtaSchedule::kTile) == "schedule");
  CHECK(refused([] { (void)run_grid({}, 1, 1, CtaSchedule::kGrid); }) == "ctas");
}

TEST_CASE("samples of an image spread by 0 to a million pixels, and caches have granules of a row or more") {
  MsdaConfig config;
  config.height = config.width = 32;
  config.strides = {8};
  config.queries = 2;
  const auto spread = [&](double pixels) {
    return refused([&] { (void)sample_locations(config, {.spread = pixels}); });
  };
  CHECK(spread(0).empty());
  CHECK(spread(1e6).empty());
  CHECK(spread(-0.001) == "spread");
  CHECK(spread(1e6 + 1) == "spread");
  const auto cache = [&](const MsdaCache& shape) {
    return refused([&] { (void)simulate_msda(config, {}, QueryOrder::kLinear, shape); });
  };
  CHECK(cache({.capacity_granules = 0, .rows_per_granule = 1}).empty());
  CHECK(cache({.capacity_granules = -1, .rows_per_granule = 1}) == "cache");
  CHECK(cache({.capacity_granules = 0, .rows_per_granule = 0}) == "cache");
}

TEST_CASE("a queue of updates refuses what is no time, no share and no number of warps") {
  const auto queue = [](const std::function<void(ContentionQueue&)>& change) {
    ContentionQueue asked;
    change(asked);
    const std::vector<std::int64_t> addresses = {0, 1, 0};
    return refused([&] { (void)run_contention(addresses, 2, asked); });
  };
  using Q = ContentionQueue;
  CHECK(queue([](Q&) {}).empty());
  const std::pair<const char*, double Q::*> times[] = {{"issue_ns", &Q::issue_ns},
                                                       {"service_ns", &Q::service_ns},
                                                       {"round_trip_ns", &Q::round_trip_ns},
                                                       {"slice_ns", &Q::slice_ns},
                                                       {"dram_ns", &Q::dram_ns}};
  for (const auto& time : times) {
    double Q::*const member = time.second;  // clang 14 takes no structured binding into a lambda
    CHECK(queue([&](Q& asked) { asked.*member = 0; }).empty());
    CHECK(queue([&](Q& asked) { asked.*member = -1e-9; }) == time.first);
    CHECK(queue([&](Q& asked) { asked.*member = std::numeric_limits<double>::infinity(); }) == time.first);
    CHECK(queue([&](Q& asked) { asked.*member = std::numeric_limits<double>::quiet_NaN(); }) == time.first);
  }
  for (const double share : {0.0, 1.0}) CHECK(queue([&](Q& asked) { asked.changing_share = share; }).empty());
  for (const double share : {-1e-9, 1 + 1e-9})
    CHECK(queue([&](Q& asked) { asked.changing_share = share; }) == "changing_share");
  for (const std::int64_t lanes : {1, 2})
    CHECK(queue([&](Q& asked) { asked.lanes_per_word = lanes; }).empty());
  for (const std::int64_t lanes : {0, 3})
    CHECK(queue([&](Q& asked) { asked.lanes_per_word = lanes; }) == "lanes_per_word");
  for (const std::int64_t most : {std::int64_t{1}, std::int64_t{1} << 24}) {
    CHECK(queue([&](Q& asked) { asked.warps = most; }).empty());
    CHECK(queue([&](Q& asked) { asked.slices = most; }).empty());
  }
  for (const std::int64_t out : {std::int64_t{0}, (std::int64_t{1} << 24) + 1}) {
    CHECK(queue([&](Q& asked) { asked.warps = out; }) == "warps");
    CHECK(queue([&](Q& asked) { asked.slices = out; }) == "slices");
  }
}

}  // namespace ranges_test

// The lockstep replay against models' closed form and against a plain list, on all small problems.
#include <list>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/models/reuse/scan_reuse.hpp>
#include <natten_sim/sim/reuse/lockstep.hpp>

#include "catch.hpp"

namespace lockstep_test {

using namespace natten_sim;

SplitQProblem small(std::int64_t length, std::int64_t q_tile, std::int64_t kv_tile, std::int64_t heads,
                    std::int64_t heads_kv, bool causal = false) {
  return {.mask = make_mask({length}, {length}, {}, {}, {causal}),
          .tiles = {{q_tile}, {kv_tile}},
          .sizes = {.heads = heads,
                    .heads_kv = heads_kv,
                    .head_dim = 2,
                    .head_dim_value = 4,
                    .element_bytes = 1,
                    .sector_bytes = 2}};
}

TEST_CASE("where the closed form answers, it equals the lockstep replay: misses, mean, histogram") {
  int answered = 0, asked = 0;
  for (const std::int64_t length : {1, 6, 7, 12}) {
    for (const std::int64_t q_tile : {1, 2, 3, 6}) {
      for (const std::int64_t kv_tile : {1, 2, 4, 5}) {
        for (const std::int64_t heads : {1, 2, 4}) {
          for (const std::int64_t heads_kv : {std::int64_t{1}, heads}) {
            for (const std::int32_t workers : {1, 2, 3, 5, 6}) {
              for (const KvOrder order : {KvOrder::kCyclic, KvOrder::kSawtooth, KvOrder::kDescending}) {
                const SplitQProblem problem = small(length, q_tile, kv_tile, heads, heads_kv);
                ++asked;
                if (!lockstep_reuse(problem, order, workers, 0)) continue;
                for (const CtaSchedule schedule : {CtaSchedule::kPersistent, CtaSchedule::kGrid}) {
                  const AttentionWork work(problem,
                                           {.schedule = schedule, .order = order, .workers = workers});
                  const ReuseProfile profile = replay_lockstep(work);
                  INFO(length << " q" << q_tile << " kv" << kv_tile << " h" << heads << "/" << heads_kv
                              << " w" << workers << " " << to_string(order) << " " << to_string(schedule));
                  for (const std::int64_t capacity : {0, 2, 6, 11, 17, 24, 30, 40, 60, 100, 500}) {
                    INFO("capacity " << capacity);
                    REQUIRE(lockstep_reuse(problem, order, workers, capacity)->miss_sectors ==
                            profile.misses(capacity));
                  }
                  const auto distances = lockstep_distances(problem, order, workers);
                  REQUIRE(distances->mean_bytes.has_value() == profile.mean_bytes().has_value());
                  if (profile.mean_bytes())
                    REQUIRE(std::abs(*distances->mean_bytes - *profile.mean_bytes()) < 1e-9);
                  const auto histogram = profile.histogram();
                  REQUIRE(histogram.size() == distances->histogram.size());
                  for (std::size_t i = 0; i < histogram.size(); ++i) {
                    REQUIRE(histogram[i].bytes == distances->histogram[i].upto_bytes);
                    REQUIRE(histogram[i].count == distances->histogram[i].count);
                  }
                }
                ++answered;
              }
            }
          }
        }
      }
    }
  }
  INFO(answered << " of " << asked);
  CHECK(answered > 1000);
  CHECK(answered < asked);
}

TEST_CASE("the closed form stays silent where it is not exact") {
  CHECK(lockstep_reuse(small(12, 2, 2, 1, 1, true), KvOrder::kCyclic, 2, 10) == std::nullopt);  // causal
  CHECK(lockstep_reuse(small(12, 2, 2, 2, 2), KvOrder::kCyclic, 4, 10) == std::nullopt);  // waves span heads
  CHECK_THROWS_AS(lockstep_reuse(small(12, 2, 2, 1, 1), KvOrder::kCyclic, 0, 10), InvalidParameter);
}

TEST_CASE("workers in lockstep miss once a wave: 1 - 1 / N of the loads of K and V hit") {
  // One pass, every worker one Q tile, a cache of one KV tile.
  for (const std::int32_t workers : {1, 4, 48, 132}) {
    const SplitQProblem problem = small(workers * 2, 2, 1, 1, 1);
    const AttentionTraffic traffic = attention_traffic(problem);
    const ReuseProfile profile = replay_lockstep(AttentionWork(problem, {.workers = workers}));
    const std::int64_t kv_misses = profile.misses(6) - traffic.cold.q - traffic.cold.o;
    const double hit_rate =
        1.0 - static_cast<double>(kv_misses) / static_cast<double>(traffic.sectors.k + traffic.sectors.v);
    CHECK(std::abs(hit_rate - lockstep_hit_rate(workers)) < 1e-12);
  }
}

TEST_CASE("profiles by tile and by sector count the same sectors, and agree on what is cold") {
  for (const bool causal : {false, true}) {
    const AttentionWork work(small(24, 3, 4, 2, 1, causal), {.order = KvOrder::kSawtooth, .workers = 3});
    const ReuseProfile by_tile = replay_lockstep(work, Granularity::kTile);
    const ReuseProfile by_sector = replay_lockstep(work, Granularity::kSector);
    CHECK(by_tile.accesses() == by_sector.accesses());
    CHECK(by_tile.cold() == by_sector.cold());
    // A sector's own tile is not between its uses when tiles are walked again in the same direction.
    CHECK(*by_sector.mean_bytes() <= *by_tile.mean_bytes() * 1.5);
  }
}

TEST_CASE("the replay equals a step-by-step list simulation with causal masks and every schedule") {
  for (const CtaSchedule schedule : {CtaSchedule::kPersistent, CtaSchedule::kGrid, CtaSchedule::kTile}) {
    for (const std::int32_t workers : {1, 2, 3, 7}) {
      const AttentionWork work(small(22, 3, 2, 2, 2, true),
                               {.schedule = schedule, .order = KvOrder::kSawtooth, .workers = workers});
      std::list<BlockAccess> stack;
      std::int64_t misses = 0, visits = 0;
      constexpr std::int64_t kCapacity = 40;
      for_each_lockstep_access(work, [&](const BlockAccess& access) {
        ++visits;
        std::int64_t distance = access.bytes;
        auto at = stack.begin();
        for (; at != stack.end() && at->block != access.block; ++at) distance += at->bytes;
        if (at == stack.end() || distance > kCapacity) misses += access.bytes / 2;
        if (at != stack.end()) stack.erase(at);
        stack.push_front(access);
      });
      CHECK(visits == work.accesses());
      CHECK(replay_lockstep(work).misses(kCapacity) == misses);
    }
  }
}

}  // namespace lockstep_test

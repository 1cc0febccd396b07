// The simulation of wavefront.hpp once more, slot by slot, without a queue of events.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/reuse/partitioned_l2.hpp>
#include <natten_sim/sim/reuse/wavefront.hpp>

#include "catch.hpp"
#include "random_values.hpp"
#include "random.hpp"

namespace wavefront_steps_test {

using namespace natten_sim;
using test::RandomValues;

class Steps {
 public:
  Steps(const AttentionWork& work, const WavefrontDevice& device, const WavefrontOptions& options)
      : work_(work),
        device_(device),
        options_(options),
        dispatcher_(work),
        cache_(work.blocks(), work.key(work.item(0), 0, 0).bytes, work.sector_bytes(),
               {device.capacity_bytes, device.l2_partitions, device.l2_ways}),
        distances_(work.blocks()),
        slots_(static_cast<std::size_t>(work.schedule().workers)),
        port_free_(static_cast<std::size_t>(device.sms), 0.0),
        random_(options.seed) {
    if (options.record_distances) run_.profile.emplace();
  }

  WavefrontRun run() {
    for (int w = 0; w < workers(); ++w) begin(w, 0);
    for (;;) {
      int first = -1;  // of simultaneous slots the first
      for (int w = 0; w < workers(); ++w) {
        if (at(w).next && (first < 0 || *at(w).next < *at(first).next)) first = w;
      }
      if (first < 0) return run_;
      const double now = *at(first).next;
      at(first).next.reset();
      run_.time_ns = now;
      if (at(first).multiplies) {
        over(first, now);
      } else {
        multiply(first, now);
      }
    }
  }

 private:
  struct Slot {
    AttentionWork::Item item;
    std::int64_t pass = 0, done = 0;   // items begun, halves of tiles multiplied
    std::vector<double> keys, values;  // when those of the item's tiles arrive, so far
    std::vector<double> pairs;         // of its tiles
    double launched = 0;
    double query_arrives = 0, slowness = 1;
    bool multiplies = false;
    double left = 0, since = 0;  // pairs, and when
    std::optional<double> next;
  };

  [[nodiscard]] int workers() const { return work_.schedule().workers; }
  Slot& at(int w) { return slots_[static_cast<std::size_t>(w)]; }
  [[nodiscard]] int sm_of(int w) const {
    return device_.sm_of_worker.empty() ? w % device_.sms
                                        : device_.sm_of_worker.at(static_cast<std::size_t>(w));
  }
  /// A share of all DRAM latencies is shorter than this one.
  [[nodiscard]] double latency_at(double share) const {
    const auto& q = device_.dram_latency_ns;
    const auto between = [&](double from, double to, double a, double b) {
      return a + (b - a) * (share - from) / (to - from);
    };
    if (share <= 0.5) return between(0, 0.5, std::max(0.0, 1.5 * q[0] - 0.5 * q[1]), q[0]);
    if (share <= 0.9) return between(0.5, 0.9, q[0], q[1]);
    if (share <= 0.99) return between(0.9, 0.99, q[1], q[2]);
    if (share <= 0.999) return between(0.99, 0.999, q[2], q[3]);
    return between(0.999, 1, q[3], 1.5 * q[3] - 0.5 * q[2]);
  }

  [[nodiscard]] std::int32_t partition_of(int w) const {
    if (device_.partition_of_sm.empty())  // as many neighbouring SMs each
      return static_cast<std::int32_t>(
          std::floor(static_cast<double>(sm_of(w)) * device_.l2_partitions / device_.sms));
    return device_.partition_of_sm[static_cast<std::size_t>(sm_of(w)) % device_.partition_of_sm.size()];
  }

  void seen(const BlockAccess& access) {
    if (run_.profile) run_.profile->add(distances_.access(access.block, access.bytes), sectors(access.bytes));
  }
  [[nodiscard]] std::int64_t sectors(std::int64_t bytes) const { return bytes / work_.sector_bytes(); }

  double dram(std::int64_t bytes, double now) {
    const double busy = static_cast<double>(bytes) / device_.dram_bytes_per_ns;
    run_.dram_busy_ns += busy;
    return dram_free_ = std::max(dram_free_, now) + busy;
  }

  double load(const BlockAccess& access, int w, double now) {
    seen(access);
    const PartitionedL2::Read read = cache_.read(access.block, access.bytes, partition_of(w));
    run_.load_sectors += sectors(access.bytes);
    run_.load_miss_sectors += sectors(read.dram_bytes);
    run_.fabric_sectors += sectors(read.fabric_bytes);
    double& there = ready_[access.block];
    if (read.dram_bytes > 0) {
      there = dram(read.dram_bytes, now);
      if (device_.dram_latency_ns.back() > 0) there += latency_at(random_.unit());
    } else if (there > now) {
      run_.in_flight_sectors += sectors(access.bytes);
    }
    double& port = port_free_[static_cast<std::size_t>(sm_of(w))];
    port = std::max(port, now) + static_cast<double>(access.bytes) /
                                     (there > now ? device_.miss_bytes_per_ns : device_.hit_bytes_per_ns);
    const double crossing = static_cast<double>(access.bytes) / device_.hit_bytes_per_ns;
    return device_.hit_latency_ns + std::max(port, there + crossing);
  }

  double around_one(double deviation) {
    if (deviation == 0) return 1;  // nothing is drawn
    return 1 + deviation * std::sqrt(3.0) * (2 * random_.unit() - 1);
  }

  void ask_key(int w, double now) {
    Slot& slot = at(w);
    const std::int64_t tile = std::ssize(slot.keys);
    if (tile == slot.item.kv_tiles) return;
    const BlockAccess key = work_.key(slot.item, slot.pass - 1, tile);
    slot.keys.push_back(load(key, w, now));
    const double slowness = around_one(device_.jitter) * slot.slowness;
    slot.pairs.push_back(static_cast<double>(work_.multiplied_pairs(slot.item, key)) * slowness);
  }
  void ask_value(int w, double now) {
    Slot& slot = at(w);
    const std::int64_t tile = std::ssize(slot.values);
    if (tile == slot.item.kv_tiles) return;
    slot.values.push_back(load(work_.value_of(slot.item, work_.key(slot.item, slot.pass - 1, tile)), w, now));
  }

  void begin(int w, double now) {
    const std::optional<std::int64_t> position = dispatcher_.next(w);
    if (!position) {
      leave(w, now);
      return;
    }
    Slot& slot = at(w);
    slot.item = work_.item(*position);
    ++slot.pass;
    slot.done = 0;
    slot.keys.clear();
    slot.values.clear();
    slot.pairs.clear();
    if (work_.schedule().schedule != CtaSchedule::kPersistent) {
      count(sm_of(w), now);  // until here at the rates of before
      slot.launched = now;
      plan(sm_of(w), now);
    }
    slot.slowness = around_one(device_.item_jitter);
    slot.query_arrives = load(work_.query(slot.item), w, now);
    ask_key(w, now);
    for (int stage = 1; stage < options_.stages; ++stage) {
      ask_value(w, now);
      ask_key(w, now);
    }
    over(w, now);
  }

  void over(int w, double now) {
    Slot& slot = at(w);
    if (slot.done == 2 * slot.item.kv_tiles) {
      const BlockAccess output = work_.output(slot.item);
      seen(output);
      run_.fabric_sectors += sectors(cache_.write(output.block, output.bytes, partition_of(w)));
      run_.store_sectors += sectors(output.bytes);
      (void)dram(output.bytes, now);
      begin(w, now);
      return;
    }
    const auto tile = static_cast<std::size_t>(slot.done / 2);
    const double there =
        std::max(slot.done % 2 == 0 ? slot.keys[tile] : slot.values[tile], slot.query_arrives);
    if (there <= now) {
      multiply(w, now);
      return;
    }
    leave(w, now);
    slot.next = there;
  }

  void multiply(int w, double now) {
    Slot& slot = at(w);
    double pairs = slot.pairs[static_cast<std::size_t>(slot.done / 2)];
    if (slot.done++ % 2 == 0) {  // by K: V of a later tile has room now
      ask_value(w, now);
      pairs *= device_.score_share;
    } else {
      ask_key(w, now);
      pairs *= 1 - device_.score_share;
    }
    if (slot.multiplies) {
      slot.since = now;
      slot.left = pairs;
      slot.next = now + slot.left / rate(w);
      return;
    }
    count(sm_of(w), now);
    slot.multiplies = true;
    slot.since = now;
    slot.left = pairs;
    plan(sm_of(w), now);
  }

  void leave(int w, double now) {
    if (!at(w).multiplies) return;
    count(sm_of(w), now);
    at(w).multiplies = false;
    at(w).next.reset();
    plan(sm_of(w), now);
  }

  /// Of an SM's rate the slots that multiply have equal parts, but for their skew; alone one has the lone
  /// share.
  double rate(int w) {
    int together = 0, slots = 0, place = 0;
    for (int other = 0; other < workers(); ++other) {
      if (sm_of(other) != sm_of(w)) continue;
      const double mine = at(w).launched, its = at(other).launched;
      if (its < mine || (its == mine && other < w)) ++place;  // it is older
      together += at(other).multiplies;
    }
    for (int other = 0; other < workers(); other += device_.sms) ++slots;  // of the SM that has most
    const auto sm = static_cast<std::size_t>(sm_of(w));
    const double clock = 1 + (sm < device_.slowness_of_sm.size() ? device_.slowness_of_sm[sm] : 0);
    if (slots == 1) return device_.pairs_per_ns / clock;
    const double share = device_.lone_share + (1 - device_.lone_share) * (together - 1.0) / (slots - 1.0);
    const double slowness = 1 + device_.slot_skew * (place / (slots - 1.0) - 0.5);
    return device_.pairs_per_ns * share / together / slowness / clock;
  }

  void count(int sm, double now) {
    for (int w = 0; w < workers(); ++w) {
      if (sm_of(w) != sm || !at(w).multiplies) continue;
      at(w).left -= rate(w) * (now - at(w).since);
      at(w).since = now;
    }
  }
  void plan(int sm, double now) {
    for (int w = 0; w < workers(); ++w) {
      if (sm_of(w) == sm && at(w).multiplies) at(w).next = now + std::max(at(w).left, 0.0) / rate(w);
    }
  }

  const AttentionWork& work_;
  const WavefrontDevice& device_;
  const WavefrontOptions& options_;
  Dispatcher dispatcher_;
  PartitionedL2 cache_;
  StackDistances distances_;
  std::vector<Slot> slots_;
  std::vector<double> port_free_;  // of each SM
  std::map<std::int64_t, double> ready_;
  double dram_free_ = 0;
  RandomSequence random_;
  WavefrontRun run_;
};

bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}); }

TEST_CASE("a run in time is what its slots do, one after the other") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  for (int n = 0; n < 500; ++n) {
    CAPTURE(n);
    OperandSizes sizes{.head_dim = 4, .head_dim_value = 4, .element_bytes = 1, .sector_bytes = 4};
    sizes.heads = random.whole(1, 3);
    sizes.heads_kv = random.coin() ? 1 : sizes.heads;
    const std::int64_t length = random.whole(1, 70);
    const SplitQProblem problem{.mask = make_mask({length}, {length}, {}, {}, {random.coin()}),
                                .tiles = {{random.whole(1, 12)}, {random.whole(1, 12)}},
                                .sizes = sizes};
    AttentionSchedule schedule;
    schedule.schedule = random.of({CtaSchedule::kPersistent, CtaSchedule::kGrid, CtaSchedule::kTile});
    schedule.order = random.of({KvOrder::kCyclic, KvOrder::kSawtooth, KvOrder::kDescending});
    schedule.workers = static_cast<std::int32_t>(random.whole(1, 9));
    // No two times coincide by chance: equal ones are of slots that wait for one tile.
    WavefrontDevice device{.capacity_bytes = random.whole(0, 2000),
                           .l2_partitions = static_cast<std::int32_t>(random.whole(1, 3)),
                           .sms = static_cast<std::int32_t>(random.whole(1, 4)),
                           .hit_bytes_per_ns = random.real(1, 50),
                           .miss_bytes_per_ns = random.real(1, 50),
                           .dram_bytes_per_ns = random.real(1, 50),
                           .hit_latency_ns = random.of({0.0, random.real(0, 20)}),
                           .pairs_per_ns = random.real(1, 50),
                           .score_share = random.real(0.05, 0.95),
                           .lone_share = random.of({1.0, random.real(0.5, 1)}),
                           .slot_skew = random.of({0.0, random.real(-0.9, 0.9)}),
                           .jitter = random.real(0.01, 0.5),
                           .item_jitter = random.of({0.0, random.real(0, 0.5)})};
    if (random.coin()) {
      device.dram_latency_ns = {random.real(0, 50), random.real(50, 60), random.real(60, 90),
                                random.real(90, 200)};
    }
    if (random.coin()) {
      for (std::int32_t worker = 0; worker < schedule.workers; ++worker) {
        device.sm_of_worker.push_back(worker % device.sms);
        std::swap(device.sm_of_worker.back(),
                  device.sm_of_worker[static_cast<std::size_t>(random.whole(0, worker))]);
      }
    }
    if (random.coin()) {
      for (std::int64_t sm = random.whole(1, 5); sm > 0; --sm)
        device.slowness_of_sm.push_back(random.real(-0.5, 0.5));
    }
    if (random.coin()) {
      for (std::int64_t sm = random.whole(1, 5); sm > 0; --sm)
        device.partition_of_sm.push_back(
            static_cast<std::int32_t>(random.whole(0, device.l2_partitions - 1)));
    }
    const WavefrontOptions options{
        .stages = static_cast<std::int32_t>(random.of<std::int64_t>({1, 2, 3, 16})),
        .seed = static_cast<std::uint64_t>(random.whole(0, 1000)),
        .record_distances = random.coin()};
    const AttentionWork work(problem, schedule);
    const WavefrontRun run = run_wavefront(work, device, options),
                       expected = Steps(work, device, options).run();
    REQUIRE(run.load_sectors == expected.load_sectors);
    REQUIRE(run.load_miss_sectors == expected.load_miss_sectors);
    REQUIRE(run.fabric_sectors == expected.fabric_sectors);
    REQUIRE(run.in_flight_sectors == expected.in_flight_sectors);
    REQUIRE(run.store_sectors == expected.store_sectors);
    REQUIRE(same(run.dram_busy_ns, expected.dram_busy_ns));
    REQUIRE(same(run.time_ns, expected.time_ns));
    REQUIRE(run.profile.has_value() == options.record_distances);
    if (!run.profile) continue;
    REQUIRE(run.profile->accesses() == expected.profile->accesses());
    REQUIRE(run.profile->cold() == expected.profile->cold());
    REQUIRE(run.profile->mean_bytes() == expected.profile->mean_bytes());
  }
}

}  // namespace wavefront_steps_test

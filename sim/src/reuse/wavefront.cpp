#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/reuse/partitioned_l2.hpp>
#include <natten_sim/sim/reuse/wavefront.hpp>

#include "reuse/wavefront_checks.hpp"

namespace natten_sim {
namespace {

/// Operands of an item, in the order in which they are asked for and used: K, V, K, V ...
constexpr std::size_t kMostInFlight = std::size_t{2} * kMaxWavefrontStages;

/// One CTA slot.
struct Slot {
  AttentionWork::Item item;
  std::int64_t pass = -1;
  std::int64_t issued = 0;                          // operands asked for
  std::int64_t computed = 0;                        // operands multiplied by or being so
  std::array<double, kMostInFlight> arrival{};      // of issued operands, by number mod the array
  BlockAccess key;                                  // of the tile that was asked for last
  std::array<double, kMaxWavefrontStages> pairs{};  // of tiles, with their jitter, by number mod the array
  double query_arrival = 0;
  double since = 0;      // when its CTA came onto the SM
  double slowness = 1;   // of the item's tiles, relative to other items
  bool at_work = false;  // multiplies; otherwise waits for data, or has ended
  double remaining = 0;  // pairs of the phase, at time `settled`
  double settled = 0;
  std::uint32_t version = 0;  // of its next event: earlier ones are void
};

struct Sm {
  std::vector<std::int32_t> workers;  // with a slot
  std::int32_t idle = 0;              // there from the beginning, without any item
  double slowness = 1;  // of its clock
  double port_free = 0;
  std::int32_t at_work = 0;  // slots
};

struct Event {
  double time;
  std::int32_t worker;
  std::uint32_t version;
  friend bool operator>(const Event& a, const Event& b) {
    return std::pair(a.time, a.worker) > std::pair(b.time, b.worker);
  }
};

/// Key bytes of the first item that visits any tile.
std::int64_t first_key_bytes(const AttentionWork& work) {
  for (std::int64_t position = 0; position < work.items(); ++position) {
    const AttentionWork::Item item = work.item(position);
    if (item.kv_tiles > 0) return work.key(item, 0, 0).bytes;
  }
  return 1;
}

class Simulation {
 public:
  Simulation(const AttentionWork& work, const WavefrontDevice& device, const WavefrontOptions& options)
      : work_(work),
        device_(device),
        options_(options),
        dispatcher_(work),
        cache_(work.blocks(), first_key_bytes(work), work.sector_bytes(),
               {device.capacity_bytes, device.l2_partitions, device.l2_ways}),
        ready_(static_cast<std::size_t>(work.blocks()), 0.0),
        slots_(static_cast<std::size_t>(std::min<std::int64_t>(work.schedule().workers, work.items()))),
        sms_(static_cast<std::size_t>(device.sms)),
        random_(options.seed) {
    for (std::size_t sm = 0; sm < std::min(sms_.size(), device.slowness_of_sm.size()); ++sm)
      sms_[sm].slowness += device.slowness_of_sm[sm];
    for (std::int32_t worker = 0; worker < work.schedule().workers; ++worker) {
      poll();
      if (worker < slots()) {
        sm_of(worker).workers.push_back(worker);
      } else {
        ++sm_of(worker).idle;
      }
    }
    if (options.record_distances) {
      run_.profile.emplace();
      distances_ = StackDistances(work.blocks());
    }
  }

  WavefrontRun run(const std::function<void(double)>& progress);

 private:
  void start_item(std::int32_t worker, double now);
  [[nodiscard]] bool take_item(std::int32_t worker, double now);
  void issue(std::int32_t worker, double now);
  void advance(std::int32_t worker, double now);
  void multiply(std::int32_t worker, double now);
  void stop_work(std::int32_t worker, double now);
  void settle(const Sm& sm, double now);
  void reschedule(const Sm& sm, double now);
  [[nodiscard]] double pairs_per_ns(std::int32_t worker) const;
  double dram_latency();
  [[nodiscard]] std::int32_t older_than(std::int32_t worker) const;
  double load(const BlockAccess& access, std::int32_t worker, double now);
  void store(const BlockAccess& access, std::int32_t worker, double now);
  void record(const BlockAccess& access);
  double deviating(double jitter);
  [[nodiscard]] static std::int64_t operands(const Slot& slot) { return 2 * slot.item.kv_tiles; }
  [[nodiscard]] std::int32_t slots() const { return static_cast<std::int32_t>(slots_.size()); }
  Slot& slot(std::int32_t worker) { return slots_[static_cast<std::size_t>(worker)]; }
  void wake(std::int32_t worker, double when) { events_.push({when, worker, ++slot(worker).version}); }
  [[nodiscard]] std::size_t sm_number(std::int32_t worker) const {
    return static_cast<std::size_t>(device_.sm_of_worker.empty()
                                        ? worker % device_.sms
                                        : device_.sm_of_worker[static_cast<std::size_t>(worker)]);
  }
  Sm& sm_of(std::int32_t worker) { return sms_[sm_number(worker)]; }
  [[nodiscard]] const Sm& sm_of(std::int32_t worker) const { return sms_[sm_number(worker)]; }
  [[nodiscard]] std::int32_t partition_of(std::int32_t worker) const {
    const auto sm = static_cast<std::int64_t>(sm_number(worker));
    const std::vector<std::int32_t>& listed = device_.partition_of_sm;
    if (listed.empty()) return static_cast<std::int32_t>(sm * device_.l2_partitions / device_.sms);
    return listed[static_cast<std::size_t>(sm) % listed.size()];
  }

  const AttentionWork& work_;
  const WavefrontDevice& device_;
  const WavefrontOptions& options_;
  Dispatcher dispatcher_;
  PartitionedL2 cache_;
  StackDistances distances_;
  std::vector<double> ready_;  // of a held block: when its data are in the cache
  std::vector<Slot> slots_;  // of the workers that get an item: every worker takes one before any takes a second
  std::vector<Sm> sms_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  double dram_free_ = 0;
  RandomSequence random_;
  std::int64_t touched_ = 0;
  WavefrontRun run_;
};

void Simulation::record(const BlockAccess& access) {
  poll();  // one event may touch thousands of blocks
  ++touched_;
  if (!run_.profile) return;
  if (access.bytes != 0)
    run_.profile->add(distances_.access(access.block, access.bytes), access.bytes / work_.sector_bytes());
  if (access.shared_bytes != 0)
    run_.profile->add(work_.sector_bytes(), access.shared_bytes / work_.sector_bytes());
}

/// When the data of a load asked for at `now` have arrived in the SM.
double Simulation::load(const BlockAccess& access, std::int32_t worker, double now) {
  record(access);
  const PartitionedL2::Read read = cache_.read(access.block, access.bytes, partition_of(worker));
  double& ready = ready_[static_cast<std::size_t>(access.block)];
  const std::int64_t moved = access.bytes + access.shared_bytes;
  run_.load_sectors += moved / work_.sector_bytes();
  run_.load_miss_sectors += read.dram_bytes / work_.sector_bytes();
  run_.fabric_sectors += read.fabric_bytes / work_.sector_bytes();
  if (read.dram_bytes > 0) {
    const double busy = static_cast<double>(read.dram_bytes) / device_.dram_bytes_per_ns;
    dram_free_ = std::max(dram_free_, now) + busy;
    run_.dram_busy_ns += busy;
    ready = dram_free_ + dram_latency();
  } else if (ready > now) {
    run_.in_flight_sectors += access.bytes / work_.sector_bytes();
  }
  Sm& sm = sm_of(worker);
  const auto bytes = static_cast<double>(moved);
  const double rate = ready > now ? device_.miss_bytes_per_ns : device_.hit_bytes_per_ns;
  sm.port_free = std::max(sm.port_free, now) + bytes / rate;
  return std::max(sm.port_free, ready + bytes / device_.hit_bytes_per_ns) + device_.hit_latency_ns;
}

void Simulation::store(const BlockAccess& access, std::int32_t worker, double now) {
  record(access);
  run_.fabric_sectors +=
      cache_.write(access.block, access.bytes, partition_of(worker)) / work_.sector_bytes();
  run_.store_sectors += (access.bytes + access.shared_bytes) / work_.sector_bytes();
  const double busy = static_cast<double>(access.bytes) / device_.dram_bytes_per_ns;
  dram_free_ = std::max(dram_free_, now) + busy;
  run_.dram_busy_ns += busy;
}

double Simulation::dram_latency() {
  const auto& [median, p90, p99, p999] = device_.dram_latency_ns;
  if (p999 == 0) return 0;
  constexpr std::array<double, 6> kShares = {0, 0.5, 0.9, 0.99, 0.999, 1};
  const std::array<double, 6> values = {
      std::max(0.0, median - (p90 - median) / 2), median, p90, p99, p999, p999 + (p999 - p99) / 2};
  const double share = random_.unit();
  std::size_t above = 1;
  while (share > kShares[above]) ++above;
  const double within = (share - kShares[above - 1]) / (kShares[above] - kShares[above - 1]);
  return values[above - 1] + within * (values[above] - values[above - 1]);
}

/// 1, give or take a standard deviation of `jitter`.
double Simulation::deviating(double jitter) {
  if (jitter == 0) return 1;
  const double uniform = random_.unit() * 2 - 1;  // variance 1/3
  return 1 + jitter * std::sqrt(3.0) * uniform;
}

/// CTAs of its SM that have been there longer.
std::int32_t Simulation::older_than(std::int32_t worker) const {
  const auto since = [&](std::int32_t w) { return slots_[static_cast<std::size_t>(w)].since; };
  std::int32_t older = since(worker) > 0 ? sm_of(worker).idle : 0;
  for (const std::int32_t w : sm_of(worker).workers)
    older += std::pair(since(w), w) < std::pair(since(worker), worker) ? 1 : 0;
  return older;
}

/// A slot's share of its SM, which all that are at work there divide.
double Simulation::pairs_per_ns(std::int32_t worker) const {
  const Sm& sm = sm_of(worker);
  const std::int32_t slots = (work_.schedule().workers - 1) / device_.sms + 1;
  if (slots == 1) return device_.pairs_per_ns / sm.slowness;
  poll();  // an SM may have 2^20 slots, each with as many older ones to count
  const auto last = static_cast<double>(slots - 1);
  const double at_work = sm.at_work;
  const double share = device_.lone_share + (1 - device_.lone_share) * (at_work - 1) / last;
  const double slowness = 1 + device_.slot_skew * (older_than(worker) / last - 0.5);
  return device_.pairs_per_ns * share / at_work / slowness / sm.slowness;
}

/// Counts what the slots of an SM did since they were last looked at.
void Simulation::settle(const Sm& sm, double now) {
  for (const std::int32_t w : sm.workers) {
    Slot& each = slot(w);
    if (!each.at_work) continue;
    each.remaining -= pairs_per_ns(w) * (now - each.settled);
    each.settled = now;
  }
}

/// Schedules the next events of an SM's slots at the rates that hold from now on.
void Simulation::reschedule(const Sm& sm, double now) {
  for (const std::int32_t w : sm.workers) {
    if (slot(w).at_work) wake(w, now + std::max(0.0, slot(w).remaining) / pairs_per_ns(w));
  }
}

void Simulation::issue(std::int32_t worker, double now) {
  Slot& slot = this->slot(worker);
  const std::int64_t tile = slot.issued / 2;
  double& arrival = slot.arrival[static_cast<std::size_t>(slot.issued) % slot.arrival.size()];
  if (slot.issued++ % 2 != 0) {
    arrival = load(work_.value_of(slot.item, slot.key), worker, now);
    return;
  }
  slot.key = work_.key(slot.item, slot.pass, tile);
  arrival = load(slot.key, worker, now);
  slot.pairs[static_cast<std::size_t>(tile) % slot.pairs.size()] =
      static_cast<double>(work_.multiplied_pairs(slot.item, slot.key)) * deviating(device_.jitter) *
      slot.slowness;
}

/// A Q tile that attends to nothing takes no time: its O is stored at once.
void Simulation::start_item(std::int32_t worker, double now) {
  Slot& slot = this->slot(worker);
  while (take_item(worker, now)) {
    slot.query_arrival = load(work_.query(slot.item), worker, now);
    if (operands(slot) == 0) {
      store(work_.output(slot.item), worker, now);
      continue;
    }
    while (slot.issued < std::min<std::int64_t>(operands(slot), 2 * options_.stages - 1)) issue(worker, now);
    advance(worker, now);
    return;
  }
  stop_work(worker, now);
}

/// The next item of the slot; false: there is none.
bool Simulation::take_item(std::int32_t worker, double now) {
  const std::optional<std::int64_t> position = dispatcher_.next(worker);
  if (!position) return false;
  Slot& slot = this->slot(worker);
  slot.item = work_.item(*position);
  ++slot.pass;
  if (work_.schedule().schedule != CtaSchedule::kPersistent) {  // a new CTA: the others are older now
    settle(sm_of(worker), now);
    slot.since = now;
    reschedule(sm_of(worker), now);
  }
  slot.issued = slot.computed = 0;
  slot.slowness = deviating(device_.item_jitter);
  return true;
}

/// At `now` the slot's last phase is over: the next operand may be there.
void Simulation::advance(std::int32_t worker, double now) {
  Slot& slot = this->slot(worker);
  if (slot.computed == operands(slot)) {
    store(work_.output(slot.item), worker, now);
    start_item(worker, now);
    return;
  }
  const double arrival = slot.arrival[static_cast<std::size_t>(slot.computed) % slot.arrival.size()];
  const double ready = std::max(arrival, slot.query_arrival);
  if (ready > now) {
    stop_work(worker, now);
    wake(worker, ready);
  } else {
    multiply(worker, now);
  }
}

void Simulation::multiply(std::int32_t worker, double now) {
  Slot& slot = this->slot(worker);
  const std::int64_t phase = slot.computed++;
  const double share = phase % 2 == 0 ? device_.score_share : 1 - device_.score_share;
  const double pairs = share * slot.pairs[static_cast<std::size_t>(phase / 2) % slot.pairs.size()];
  if (slot.issued < operands(slot)) issue(worker, now);  // may overwrite `pairs` of this tile
  if (slot.at_work) {
    slot.settled = now;
    slot.remaining = pairs;
    wake(worker, now + slot.remaining / pairs_per_ns(worker));
    return;
  }
  Sm& sm = sm_of(worker);
  settle(sm, now);
  slot.at_work = true;
  slot.settled = now;
  slot.remaining = pairs;
  ++sm.at_work;
  reschedule(sm, now);
}

/// The slot leaves its SM to the others.
void Simulation::stop_work(std::int32_t worker, double now) {
  Slot& slot = this->slot(worker);
  if (!slot.at_work) return;
  Sm& sm = sm_of(worker);
  settle(sm, now);
  slot.at_work = false;
  --sm.at_work;
  reschedule(sm, now);
}

WavefrontRun Simulation::run(const std::function<void(double)>& progress) {
  for (std::int32_t worker = 0; worker < slots(); ++worker) {
    poll();
    start_item(worker, 0);
  }
  std::int64_t shown = 0;
  while (!events_.empty()) {
    poll();
    const auto [now, worker, version] = events_.top();
    events_.pop();
    if (version != slot(worker).version) continue;
    run_.time_ns = now;
    if (slot(worker).at_work) {
      advance(worker, now);
    } else {
      multiply(worker, now);
    }
    if (progress && touched_ - shown > (std::int64_t{1} << 20)) {
      shown = touched_;
      progress(static_cast<double>(touched_) / (2 * static_cast<double>(work_.accesses())));  // K and V apart
    }
  }
  return std::move(run_);
}

}  // namespace

WavefrontRun run_wavefront(const AttentionWork& work, const WavefrontDevice& device,
                           const WavefrontOptions& options, const std::function<void(double)>& progress) {
  require_valid(work, device, options);
  return Simulation(work, device, options).run(progress);
}

}  // namespace natten_sim

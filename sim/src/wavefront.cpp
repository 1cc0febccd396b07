#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/wavefront.hpp>

#include "lru_list.hpp"

namespace natten_sim {
namespace {

constexpr std::int32_t kMostLookahead = 15;

void require_rate(const char* parameter, double value) {
  if (value > 0 && std::isfinite(value)) return;
  throw InvalidParameter(parameter, std::to_string(value), "a positive, finite rate");
}

void require_valid(const WavefrontDevice& device, const WavefrontOptions& options) {
  if (device.sms < 1) throw InvalidParameter("sms", std::to_string(device.sms), "1 or more", "1");
  if (device.capacity_bytes < 0)
    throw InvalidParameter("capacity_bytes", std::to_string(device.capacity_bytes), "0 or more", "0");
  require_rate("hit_bytes_per_ns", device.hit_bytes_per_ns);
  require_rate("miss_bytes_per_ns", device.miss_bytes_per_ns);
  require_rate("dram_bytes_per_ns", device.dram_bytes_per_ns);
  require_rate("pairs_per_ns", device.pairs_per_ns);
  if (options.lookahead_tiles < 0 || options.lookahead_tiles > kMostLookahead) {
    throw InvalidParameter("lookahead_tiles", std::to_string(options.lookahead_tiles),
                           "0.." + std::to_string(kMostLookahead));
  }
  if (!(options.jitter >= 0 && options.jitter <= 0.5))
    throw InvalidParameter("jitter", std::to_string(options.jitter), "0..0.5");
}

/// One CTA slot.
struct Slot {
  AttentionWork::Item item;
  std::int64_t pass = -1;
  std::int64_t issued = 0;                           // KV tiles asked for
  std::int64_t computed = 0;                         // KV tiles multiplied or being multiplied
  std::array<double, kMostLookahead + 1> arrival{};  // of issued tiles, by tile mod the array
  std::array<std::int64_t, kMostLookahead + 1> pairs{};
  double query_arrival = 0;
  bool waits_for_pipe = false;  // the event is an arrival of data, not the end of a multiplication
};

struct Sm {
  double port_free = 0;
  double pipe_free = 0;
};

class Simulation {
 public:
  Simulation(const AttentionWork& work, const WavefrontDevice& device, const WavefrontOptions& options)
      : work_(work),
        device_(device),
        options_(options),
        dispatcher_(work),
        cache_(work.blocks(), device.capacity_bytes),
        ready_(static_cast<std::size_t>(work.blocks()), 0.0),
        slots_(static_cast<std::size_t>(work.schedule().workers)),
        sms_(static_cast<std::size_t>(device.sms)),
        random_(options.seed * 2 + 1) {
    if (options.record_distances) {
      run_.profile.emplace();
      distances_ = StackDistances(work.blocks());
    }
  }

  WavefrontRun run(const std::function<void(double)>& progress);

 private:
  void start_item(std::int32_t worker, double now);
  void issue(Slot& slot, Sm& sm, double now);
  void advance(std::int32_t worker, double now);
  void multiply(std::int32_t worker, double now);
  double load(const BlockAccess& access, Sm& sm, double now);
  void store(const BlockAccess& access, double now);
  bool touch(const BlockAccess& access);
  double jittered(double duration);
  void wake(std::int32_t worker, double when) { events_.push({when, worker}); }
  Sm& sm_of(std::int32_t worker) { return sms_[static_cast<std::size_t>(worker % device_.sms)]; }

  using Event = std::pair<double, std::int32_t>;
  const AttentionWork& work_;
  const WavefrontDevice& device_;
  const WavefrontOptions& options_;
  Dispatcher dispatcher_;
  LruList cache_;
  StackDistances distances_;
  std::vector<double> ready_;  // of a held tile: when its data are in the cache
  std::vector<Slot> slots_;
  std::vector<Sm> sms_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  double dram_free_ = 0;
  std::uint64_t random_;
  std::int64_t touched_ = 0;
  WavefrontRun run_;
};

bool Simulation::touch(const BlockAccess& access) {
  ++touched_;
  if (run_.profile) {
    run_.profile->add(distances_.access(access.block, access.bytes), access.bytes / work_.sector_bytes());
  }
  return cache_.touch(access.block, access.bytes);
}

/// When the data of a load asked for at `now` have arrived in the SM.
double Simulation::load(const BlockAccess& access, Sm& sm, double now) {
  const auto bytes = static_cast<double>(access.bytes);
  const std::int64_t sectors = access.bytes / work_.sector_bytes();
  double& ready = ready_[static_cast<std::size_t>(access.block)];
  run_.load_sectors += sectors;
  if (!touch(access)) {
    run_.load_miss_sectors += sectors;
    const double busy = bytes / device_.dram_bytes_per_ns;
    dram_free_ = std::max(dram_free_, now) + busy;
    run_.dram_busy_ns += busy;
    ready = dram_free_;
  } else if (ready > now) {
    run_.in_flight_sectors += sectors;
  }
  const double rate = ready > now ? device_.miss_bytes_per_ns : device_.hit_bytes_per_ns;
  sm.port_free = std::max(sm.port_free, now) + bytes / rate;
  return std::max(sm.port_free, ready);
}

void Simulation::store(const BlockAccess& access, double now) {
  (void)touch(access);
  ready_[static_cast<std::size_t>(access.block)] = now;
  run_.store_sectors += access.bytes / work_.sector_bytes();
  const double busy = static_cast<double>(access.bytes) / device_.dram_bytes_per_ns;
  dram_free_ = std::max(dram_free_, now) + busy;
  run_.dram_busy_ns += busy;
}

double Simulation::jittered(double duration) {
  if (options_.jitter == 0) return duration;
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  const double uniform = static_cast<double>(random_ >> 11) * 0x1p-53 * 2 - 1;  // variance 1/3
  return duration * (1 + options_.jitter * std::sqrt(3.0) * uniform);
}

void Simulation::issue(Slot& slot, Sm& sm, double now) {
  const BlockAccess kv = work_.key_value(slot.item, slot.pass, slot.issued);
  const std::size_t at = static_cast<std::size_t>(slot.issued) % slot.arrival.size();
  slot.arrival[at] = load(kv, sm, now);
  slot.pairs[at] = work_.multiplied_pairs(slot.item, kv);
  ++slot.issued;
}

void Simulation::start_item(std::int32_t worker, double now) {
  const std::optional<std::int64_t> position = dispatcher_.next(worker);
  if (!position) return;
  Slot& slot = slots_[static_cast<std::size_t>(worker)];
  slot.item = work_.item(*position);
  ++slot.pass;
  slot.issued = slot.computed = 0;
  slot.query_arrival = load(work_.query(slot.item), sm_of(worker), now);
  while (slot.issued < std::min<std::int64_t>(slot.item.kv_tiles, options_.lookahead_tiles))
    issue(slot, sm_of(worker), now);
  advance(worker, now);
}

/// At `now` the slot's last multiplication is over: a buffer is free, the next tile may be there.
void Simulation::advance(std::int32_t worker, double now) {
  Slot& slot = slots_[static_cast<std::size_t>(worker)];
  if (slot.computed == slot.item.kv_tiles) {
    store(work_.output(slot.item), now);
    start_item(worker, now);
    return;
  }
  if (slot.issued < slot.item.kv_tiles) issue(slot, sm_of(worker), now);
  const double arrival = slot.arrival[static_cast<std::size_t>(slot.computed) % slot.arrival.size()];
  const double ready = std::max(arrival, slot.query_arrival);
  if (ready > now) {
    slot.waits_for_pipe = true;
    wake(worker, ready);
  } else {
    multiply(worker, now);
  }
}

void Simulation::multiply(std::int32_t worker, double now) {
  Slot& slot = slots_[static_cast<std::size_t>(worker)];
  Sm& sm = sm_of(worker);
  const auto pairs =
      static_cast<double>(slot.pairs[static_cast<std::size_t>(slot.computed) % slot.pairs.size()]);
  sm.pipe_free = std::max(sm.pipe_free, now) + jittered(pairs / device_.pairs_per_ns);
  ++slot.computed;
  slot.waits_for_pipe = false;
  wake(worker, sm.pipe_free);
}

WavefrontRun Simulation::run(const std::function<void(double)>& progress) {
  for (std::int32_t worker = 0; worker < work_.schedule().workers; ++worker) start_item(worker, 0);
  std::int64_t shown = 0;
  while (!events_.empty()) {
    const auto [now, worker] = events_.top();
    events_.pop();
    run_.time_ns = now;
    if (slots_[static_cast<std::size_t>(worker)].waits_for_pipe) {
      multiply(worker, now);
    } else {
      advance(worker, now);
    }
    if (progress && touched_ - shown > (std::int64_t{1} << 20)) {
      shown = touched_;
      progress(static_cast<double>(touched_) / static_cast<double>(work_.accesses()));
    }
  }
  return std::move(run_);
}

}  // namespace

WavefrontRun run_wavefront(const AttentionWork& work, const WavefrontDevice& device,
                           const WavefrontOptions& options, const std::function<void(double)>& progress) {
  require_valid(device, options);
  return Simulation(work, device, options).run(progress);
}

}  // namespace natten_sim

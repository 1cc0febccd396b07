#include <algorithm>
#include <cmath>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/scatter/contention_queue.hpp>
#include <natten_sim/core/random_bits.hpp>

namespace natten_sim {
namespace {

void require(bool holds, const char* name, double value, const char* accepted) {
  if (!holds) throw InvalidParameter(name, std::to_string(value), accepted);
}

void require_valid(const ContentionQueue& queue) {
  const auto time = [](const char* name, double value) {
    require(std::isfinite(value) && value >= 0, name, value, "finite, 0 or more");
  };
  require(queue.warps >= 1 && queue.warps <= (1 << 24), "warps", static_cast<double>(queue.warps), "1..2^24");
  time("issue_ns", queue.issue_ns);
  time("service_ns", queue.service_ns);
  time("round_trip_ns", queue.round_trip_ns);
  time("slice_ns", queue.slice_ns);
  time("dram_ns", queue.dram_ns);
  require(queue.lanes_per_word == 1 || queue.lanes_per_word == 2, "lanes_per_word",
          static_cast<double>(queue.lanes_per_word), "1 or 2");
  require(queue.changing_share >= 0 && queue.changing_share <= 1, "changing_share", queue.changing_share,
          "0..1");
  require(queue.slices >= 1 && queue.slices <= (1 << 24), "slices", static_cast<double>(queue.slices),
          "1..2^24");
}

struct Address {
  double free_ns = 0;
  std::int64_t version = 0;
  std::int64_t waiting = 0;
};

enum class Stage { kStart, kLoad, kRequest };

struct QueueEvent {
  double ns;
  std::int64_t order;  // ties: first made, first handled
  std::int64_t warp;
  Stage stage;
  friend bool operator>(const QueueEvent& a, const QueueEvent& b) {
    return std::tie(a.ns, a.order) > std::tie(b.ns, b.order);
  }
};

struct Warp {
  std::int64_t address = 0;
  std::int64_t seen = 0;
  std::int64_t lanes_left = 0;
};

class QueueSimulation {
 public:
  QueueSimulation(std::span<const std::int64_t> addresses, std::int64_t count, const ContentionQueue& queue)
      : stream_(addresses),
        queue_(queue),
        addresses_(static_cast<std::size_t>(count)),
        slice_free_(static_cast<std::size_t>(queue.slices)),
        warps_(static_cast<std::size_t>(
            std::min<std::int64_t>(queue.warps, std::max<std::int64_t>(1, std::ssize(addresses))))) {}

  ContentionRun run() {
    for (std::size_t warp = 0; warp < warps_.size(); ++warp) schedule(0, warp, Stage::kStart);
    while (!events_.empty()) {
      poll();
      const QueueEvent event = events_.top();
      events_.pop();
      handle(event);
    }
    result_.time_ns = std::max(result_.time_ns, dram_free_);
    return result_;
  }

 private:
  void schedule(double ns, std::size_t warp, Stage stage) {
    events_.push({ns, order_++, static_cast<std::int64_t>(warp), stage});
  }
  Address& address_of(const Warp& warp) { return addresses_[static_cast<std::size_t>(warp.address)]; }

  void handle(const QueueEvent& event) {
    const auto index = static_cast<std::size_t>(event.warp);
    Warp& warp = warps_[index];
    switch (event.stage) {
      case Stage::kStart:
        start(event.ns, index);
        break;
      case Stage::kLoad:  // waits for what came before it, and takes no time of the address
        warp.seen = address_of(warp).version;
        schedule(std::max(event.ns, address_of(warp).free_ns) + queue_.round_trip_ns, index, Stage::kRequest);
        break;
      case Stage::kRequest:
        serve(event.ns, index);
        break;
    }
  }

  void start(double now, std::size_t index) {
    if (next_ == stream_.size()) return;
    // Issue and DRAM are shared servers; the start is when both have let the update through.
    issue_free_ = std::max(now, issue_free_) + queue_.issue_ns;
    dram_free_ = std::max(now, dram_free_) + queue_.dram_ns;
    Warp& warp = warps_[index];
    warp.address = stream_[next_++];
    warp.lanes_left = queue_.kind == QueuedUpdate::kCompareAndSwap ? queue_.lanes_per_word : 1;
    Address& address = address_of(warp);
    result_.most_waiting = std::max(result_.most_waiting, ++address.waiting);
    schedule(std::max(issue_free_, dram_free_) + queue_.round_trip_ns / 2, index,
             queue_.kind == QueuedUpdate::kCompareAndSwap ? Stage::kLoad : Stage::kRequest);
  }

  void serve(double now, std::size_t index) {
    Warp& warp = warps_[index];
    Address& address = address_of(warp);
    double& slice = slice_free_[static_cast<std::size_t>(warp.address % queue_.slices)];
    slice = std::max(now, slice) + queue_.slice_ns;
    const double end = std::max(slice, address.free_ns) + queue_.service_ns;
    address.free_ns = end;
    ++result_.requests;
    const bool done = queue_.kind == QueuedUpdate::kReduction || succeed(warp, address);
    if (result_.requests <= queue_.listed_requests) {
      result_.first_requests.push_back(
          {static_cast<std::int64_t>(index), warp.address, now, end - queue_.service_ns, end, done});
    }
    if (done) {
      --address.waiting;
      result_.time_ns = std::max(result_.time_ns, end + queue_.round_trip_ns / 2);
      schedule(end + queue_.round_trip_ns / 2, index, Stage::kStart);
    } else {
      schedule(end + queue_.round_trip_ns, index, Stage::kRequest);
    }
  }

  /// Tries every lane that is left. Returns whether all have succeeded.
  bool succeed(Warp& warp, Address& address) {
    const std::int64_t before = warp.lanes_left;
    while (warp.lanes_left > 0 && warp.seen == address.version) {
      --warp.lanes_left;
      if (random_unit(random_bits(queue_.seed, static_cast<std::uint64_t>(successes_++))) <
          queue_.changing_share)
        ++address.version;
    }
    if (warp.lanes_left == before) ++result_.retries;
    warp.seen = address.version;
    return warp.lanes_left == 0;
  }

  std::span<const std::int64_t> stream_;
  const ContentionQueue& queue_;
  std::vector<Address> addresses_;
  std::vector<double> slice_free_;
  std::vector<Warp> warps_;
  std::priority_queue<QueueEvent, std::vector<QueueEvent>, std::greater<>> events_;
  ContentionRun result_;
  double issue_free_ = 0, dram_free_ = 0;
  std::size_t next_ = 0;
  std::int64_t order_ = 0, successes_ = 0;
};

}  // namespace

ContentionRun run_contention(std::span<const std::int64_t> addresses, std::int64_t count,
                             const ContentionQueue& queue) {
  require_valid(queue);
  require(count >= 0, "count", static_cast<double>(count), "0 or more");
  for (const std::int64_t address : addresses) {
    poll();
    if (address < 0 || address >= count)
      throw InvalidParameter("address", std::to_string(address), "0.." + std::to_string(count - 1));
  }
  return QueueSimulation(addresses, count, queue).run();
}

}  // namespace natten_sim

#include <algorithm>
#include <functional>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

namespace natten_sim {

std::int32_t heads_in_flight(const BackwardSchedule& schedule, const ScheduleRun& run) {
  struct Change {
    double time = 0;
    bool starts = false;
    std::int32_t head = 0;
    bool operator<(const Change& other) const {  // at the same time ends come first
      return time != other.time ? time < other.time : starts < other.starts;
    }
  };
  std::vector<Change> changes;
  std::int32_t heads = 0;
  for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
    poll();
    const ScheduledChain& chain = schedule.chains[i];
    heads = std::max(heads, chain.head + 1);
    if (chain.q_order.empty() || run.chains[i].end <= run.chains[i].start) continue;
    changes.push_back({run.chains[i].start, true, chain.head});
    changes.push_back({run.chains[i].end, false, chain.head});
  }
  std::sort(changes.begin(), changes.end(), polled(std::less<>()));
  std::vector<std::int32_t> at_work(static_cast<std::size_t>(heads), 0);
  std::int32_t now = 0, most = 0;
  for (const Change& change : changes) {
    poll();
    std::int32_t& chains = at_work[static_cast<std::size_t>(change.head)];
    if (change.starts) {
      now += chains++ == 0 ? 1 : 0;
    } else {
      now -= --chains == 0 ? 1 : 0;
    }
    most = std::max(most, now);
  }
  return most;
}

}  // namespace natten_sim

#include "schedules/packing.hpp"

#include <natten_sim/core/cancellation.hpp>

#include <algorithm>
#include <numeric>
#include <optional>

namespace natten_sim::schedules {
namespace {

using Lists = std::vector<std::vector<std::int32_t>>;

/// Chains by position in `order`, each on the first worker that has room; none when one does not fit.
std::optional<Lists> first_fit(const std::vector<std::size_t>& order, const std::vector<std::int32_t>& chains,
                               const std::vector<double>& times, std::int32_t workers, double limit) {
  Lists lists(static_cast<std::size_t>(workers));
  std::vector<double> loads(lists.size(), 0.0);
  std::size_t from = 0;  // workers before it have no room for a chain as long as the last one
  double last = 0;
  for (const std::size_t i : order) {
    poll();
    if (times[i] != last) from = 0;
    last = times[i];
    while (from < loads.size() && loads[from] + times[i] > limit) ++from;
    if (from == loads.size()) return std::nullopt;
    loads[from] += times[i];
    lists[from].push_back(chains[i]);
  }
  return lists;
}

}  // namespace

Lists multifit(const std::vector<std::int32_t>& chains, const std::vector<double>& times,
               std::int32_t workers, double least) {
  std::vector<std::size_t> order(chains.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   polled([&](std::size_t a, std::size_t b) { return times[a] > times[b]; }));
  double low = least, high = std::accumulate(times.begin(), times.end(), 0.0);
  Lists best = *first_fit(order, chains, times, workers, high);
  if (std::optional<Lists> packed = first_fit(order, chains, times, workers, low)) return *packed;
  constexpr int kSteps = 40;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (low + high) / 2;
    if (std::optional<Lists> packed = first_fit(order, chains, times, workers, middle)) {
      best = std::move(*packed);
      high = middle;
    } else {
      low = middle;
    }
  }
  return best;
}

std::vector<std::int32_t> chains_with_tasks(const BackwardProblem& problem) {
  const AttendedTiles& attended = problem.mask.attended();
  std::vector<std::int32_t> chains;
  for (std::int32_t head = 0; head < problem.heads; ++head) {
    for (std::int32_t kv = 0; kv < problem.mask.kv_tiles; ++kv) {
      if (!attended.q_of_kv[static_cast<std::size_t>(kv)].empty()) chains.push_back(head * problem.mask.kv_tiles + kv);
    }
  }
  return chains;
}

double largest_load(const BackwardProblem& problem, const BackwardSchedule& schedule, const std::vector<double>& times) {
  std::vector<double> loads(static_cast<std::size_t>(problem.workers), 0.0);
  for (std::size_t i = 0; i < schedule.chains.size(); ++i)
    loads[static_cast<std::size_t>(schedule.worker[i])] += times[static_cast<std::size_t>(schedule.chains[i].kv_tile)];
  return *std::max_element(loads.begin(), loads.end());
}

}  // namespace natten_sim::schedules

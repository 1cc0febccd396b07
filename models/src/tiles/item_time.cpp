#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/fit/linear_fit.hpp>
#include <natten_sim/models/tiles/item_time.hpp>

namespace natten_sim {
namespace {

constexpr int kMaxFits = 50;

double cost_of(const ItemTiles& item, const ItemCosts& costs) {
  return costs.item + static_cast<double>(item.full) * costs.full +
         static_cast<double>(item.partial) * costs.partial + item.attending * costs.attending +
         static_cast<double>(item.second_masks) * costs.second_mask;
}

struct Worker {
  double free_at = 0;
  WorkerLoad load;
};

void require_work(const ItemLaunch& launch) {
  if (launch.head.empty()) throw InvalidParameter("items", "none", "one or more");
  if (launch.heads < 1) throw InvalidParameter("heads", std::to_string(launch.heads), "1 or more", "1");
  if (launch.workers < 1) throw InvalidParameter("workers", std::to_string(launch.workers), "1 or more", "1");
}

std::vector<Worker> run(const ItemLaunch& launch, const ItemCosts& costs) {
  std::vector<Worker> workers(static_cast<std::size_t>(launch.workers));
  using Free = std::pair<double, std::size_t>;  // since when, who
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  for (std::size_t i = 0; i < workers.size(); ++i) free.emplace(0.0, i);
  std::size_t next = 0;
  for (std::int64_t head = 0; head < launch.heads; ++head) {
    for (const ItemTiles& item : launch.head) {
      std::size_t who = next++ % workers.size();
      if (launch.dispatch == Dispatch::kDynamic) {
        who = free.top().second;
        free.pop();
      }
      Worker& worker = workers[who];
      worker.free_at += cost_of(item, costs);
      ++worker.load.items;
      worker.load.full += item.full;
      worker.load.partial += item.partial;
      worker.load.attending += item.attending;
      worker.load.second_masks += item.second_masks;
      if (launch.dispatch == Dispatch::kDynamic) free.emplace(worker.free_at, who);
    }
  }
  return workers;
}

}  // namespace

WorkerLoad last_worker(const ItemLaunch& launch, const ItemCosts& costs) {
  require_work(launch);
  const std::vector<Worker> workers = run(launch, costs);
  return std::max_element(workers.begin(), workers.end(),
                          [](const Worker& a, const Worker& b) { return a.free_at < b.free_at; })
      ->load;
}

double item_time_ns(const ItemLaunch& launch, const ItemCosts& costs) {
  const WorkerLoad load = last_worker(launch, costs);
  return costs.launch + static_cast<double>(load.items) * costs.item +
         static_cast<double>(load.full) * costs.full + static_cast<double>(load.partial) * costs.partial +
         load.attending * costs.attending + static_cast<double>(load.second_masks) * costs.second_mask +
         launch.dram_bytes * costs.dram_byte;
}

ItemCosts fit_item_costs(std::span<const TimedItems> timed) {
  ItemCosts costs{0, 1, 1, 1, 0, 0, 0};  // to begin with, a tile is a tile
  std::vector<WorkerLoad> loads;
  for (int fit = 0; fit < kMaxFits; ++fit) {
    std::vector<WorkerLoad> found;
    std::vector<std::vector<double>> rows;
    std::vector<double> targets;
    for (const TimedItems& each : timed) {
      const WorkerLoad load = last_worker(each.launch, costs);
      found.push_back(load);
      rows.push_back({1, static_cast<double>(load.items), static_cast<double>(load.full),
                      static_cast<double>(load.partial), load.attending, each.launch.dram_bytes,
                      static_cast<double>(load.second_masks)});
      targets.push_back(each.time_ns);
    }
    if (found == loads) break;
    loads = std::move(found);
    const std::vector<double> fitted = linear_fit(rows, targets, "launches");
    costs = {fitted[0], fitted[1], fitted[2], fitted[3], fitted[4], fitted[5], fitted[6]};
  }
  return costs;
}

}  // namespace natten_sim

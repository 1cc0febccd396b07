#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/reuse/lockstep.hpp>

namespace natten_sim {
namespace {

struct Worker {
  AttentionWork::Item item;
  std::int64_t pass = -1;  // how many items it has taken, less one
  std::int64_t step = 0;   // 0: Q; 1 .. kv_tiles: K and V; kv_tiles + 1: O
  std::int32_t number = 0;
};

bool take_next(Worker& worker, const AttentionWork& work, Dispatcher& dispatcher) {
  const std::optional<std::int64_t> position = dispatcher.next(worker.number);
  if (!position) return false;
  worker.item = work.item(*position);
  ++worker.pass;
  worker.step = 0;
  return true;
}

}  // namespace

void for_each_lockstep_access(const AttentionWork& work, const std::function<void(const BlockAccess&)>& visit,
                              const std::function<void(double)>& progress) {
  Dispatcher dispatcher(work);
  std::vector<Worker> busy;
  for (std::int32_t number = 0; number < work.schedule().workers; ++number) {
    Worker worker;
    worker.number = number;
    if (!take_next(worker, work, dispatcher)) continue;
    busy.push_back(worker);
  }
  std::int64_t done = 0, shown = 0;
  while (!busy.empty()) {
    std::size_t kept = 0;
    for (Worker& worker : busy) {
      poll();
      bool stays = true;
      if (worker.step == 0) {
        visit(work.query(worker.item));
      } else if (worker.step <= worker.item.kv_tiles) {
        visit(work.key_value(worker.item, worker.pass, worker.step - 1));
      } else {
        visit(work.output(worker.item));
        stays = take_next(worker, work, dispatcher);
        worker.step = -1;
      }
      ++worker.step;
      ++done;
      if (stays) busy[kept++] = worker;
    }
    busy.resize(kept);
    if (progress && done - shown > (std::int64_t{1} << 20)) {
      shown = done;
      progress(static_cast<double>(done) / static_cast<double>(work.accesses()));
    }
  }
}

ReuseProfile replay_lockstep(const AttentionWork& work, Granularity granularity,
                             const std::function<void(double)>& progress) {
  const std::int64_t sector = work.sector_bytes();
  ReuseProfile profile;
  if (granularity == Granularity::kTile) {
    StackDistances distances(work.blocks());
    for_each_lockstep_access(
        work,
        [&](const BlockAccess& access) {
          if (access.bytes != 0)
            profile.add(distances.access(access.block, access.bytes), access.bytes / sector);
          if (access.shared_bytes != 0) profile.add(sector, access.shared_bytes / sector);
        },
        progress);
    return profile;
  }
  // Tiles get consecutive sectors when they are first touched.
  std::vector<std::int64_t> first(static_cast<std::size_t>(work.blocks()), -1);
  std::int64_t next = 0;
  StackDistances distances;
  for_each_lockstep_access(
      work,
      [&](const BlockAccess& access) {
        std::int64_t& base = first[static_cast<std::size_t>(access.block)];
        const std::int64_t sectors = access.bytes / sector;
        if (base < 0) base = std::exchange(next, next + sectors);
        for (std::int64_t i = 0; i < sectors; ++i) {
          poll();
          profile.add(distances.access(base + i, sector));
        }
        if (access.shared_bytes != 0) profile.add(sector, access.shared_bytes / sector);
      },
      progress);
  return profile;
}

}  // namespace natten_sim

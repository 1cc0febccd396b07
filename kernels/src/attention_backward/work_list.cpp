// Schedules as lists of tasks for the kernel, and the proof that they finish.
#include "attention_backward/work_list.hpp"

#include <algorithm>
#include <string>

#include <natten_sim/core/error.hpp>

#include "attention_backward/tile_masks.hpp"

namespace natten_sim::kernels::attention_backward {
namespace {

std::size_t cell_of(const BackwardProblem& tiles, std::int32_t head, std::int32_t q_tile) {
  return static_cast<std::size_t>(head) * static_cast<std::size_t>(tiles.mask.q_tiles) +
         static_cast<std::size_t>(q_tile);
}

/// Turn of each pair of tiles among the additions to its dQ tile, by (cell, KV tile).
std::vector<std::int32_t> turns_of(const BackwardProblem& tiles, const BackwardSchedule& schedule) {
  const auto kv_tiles = static_cast<std::size_t>(tiles.mask.kv_tiles);
  std::vector<std::int32_t> turns(schedule.dq_order.size() * kv_tiles, 0);
  for (std::size_t cell = 0; cell < schedule.dq_order.size(); ++cell) {
    std::int32_t turn = 0;
    for (const std::int32_t kv : schedule.dq_order[cell])
      turns[cell * kv_tiles + static_cast<std::size_t>(kv)] = turn++;
  }
  return turns;
}

std::string name_of(std::int32_t head, std::int32_t q_tile) {
  return "head " + std::to_string(head) + ", Q tile " + std::to_string(q_tile);
}

/// Positions of chains, a worker's one behind the other, in launch order.
std::vector<std::vector<std::size_t>> lists_of(const BackwardProblem& tiles,
                                               const BackwardSchedule& schedule) {
  std::vector<std::vector<std::size_t>> lists(static_cast<std::size_t>(tiles.workers));
  for (std::size_t chain = 0; chain < schedule.chains.size(); ++chain)
    lists[static_cast<std::size_t>(schedule.worker[chain])].push_back(chain);
  return lists;
}

void require_launched_in_order(const BackwardProblem& tiles, const BackwardSchedule& schedule) {
  const auto kv_tiles = static_cast<std::size_t>(tiles.mask.kv_tiles);
  std::vector<std::size_t> position(static_cast<std::size_t>(tiles.heads) * kv_tiles, 0);
  for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
    const ScheduledChain& chain = schedule.chains[i];
    position[static_cast<std::size_t>(chain.head) * kv_tiles + static_cast<std::size_t>(chain.kv_tile)] = i;
  }
  for (std::int32_t head = 0; head < tiles.heads; ++head) {
    for (std::int32_t q = 0; q < tiles.mask.q_tiles; ++q) {
      const std::vector<std::int32_t>& order = schedule.dq_order[cell_of(tiles, head, q)];
      const auto launched = [&](std::int32_t kv) {
        return position[static_cast<std::size_t>(head) * kv_tiles + static_cast<std::size_t>(kv)];
      };
      for (std::size_t i = 1; i < order.size(); ++i) {
        if (launched(order[i - 1]) < launched(order[i])) continue;
        throw InvalidParameter("dq_order", name_of(head, q) + ": KV tile " + std::to_string(order[i]),
                               "with dynamic dispatch, turns in the order in which chains are launched");
      }
    }
  }
}

/// Runs static lists task by task, a task's addition before the worker's next task.
class SerialRun {
 public:
  SerialRun(const BackwardProblem& tiles, const BackwardSchedule& schedule)
      : tiles_(tiles),
        schedule_(schedule),
        turns_(turns_of(tiles, schedule)),
        lists_(lists_of(tiles, schedule)),
        at_(lists_.size()),
        done_(schedule.dq_order.size(), 0),
        waiting_(schedule.dq_order.size()) {}

  void require_end() {
    std::vector<std::size_t> ready(lists_.size());
    for (std::size_t worker = 0; worker < ready.size(); ++worker) ready[worker] = worker;
    while (!ready.empty()) {
      const std::size_t worker = ready.back();
      ready.pop_back();
      advance(worker, ready);
    }
    for (std::size_t worker = 0; worker < lists_.size(); ++worker) {
      if (at_[worker].chain == lists_[worker].size()) continue;
      const ScheduledChain& chain = schedule_.chains[lists_[worker][at_[worker].chain]];
      throw InvalidParameter("schedule",
                             "worker " + std::to_string(worker) + " waits for ever for its turn at " +
                                 name_of(chain.head, chain.q_order[at_[worker].task]),
                             "orders that close no circle");
    }
  }

 private:
  struct Place {
    std::size_t chain = 0, task = 0;
  };

  void advance(std::size_t worker, std::vector<std::size_t>& ready) {
    Place& at = at_[worker];
    for (; at.chain < lists_[worker].size(); ++at.chain, at.task = 0) {
      const ScheduledChain& chain = schedule_.chains[lists_[worker][at.chain]];
      for (; at.task < chain.q_order.size(); ++at.task) {
        const std::size_t cell = cell_of(tiles_, chain.head, chain.q_order[at.task]);
        const std::int32_t turn = turns_[cell * static_cast<std::size_t>(tiles_.mask.kv_tiles) +
                                         static_cast<std::size_t>(chain.kv_tile)];
        if (done_[cell] != turn) {
          waiting_[cell].push_back({turn, worker});
          return;
        }
        ++done_[cell];
        const auto next = std::find_if(waiting_[cell].begin(), waiting_[cell].end(),
                                       [&](const Waiting& other) { return other.turn == done_[cell]; });
        if (next == waiting_[cell].end()) continue;
        ready.push_back(next->worker);
        waiting_[cell].erase(next);
      }
    }
  }

  struct Waiting {
    std::int32_t turn;
    std::size_t worker;
  };
  const BackwardProblem& tiles_;
  const BackwardSchedule& schedule_;
  std::vector<std::int32_t> turns_;
  std::vector<std::vector<std::size_t>> lists_;
  std::vector<Place> at_;
  std::vector<std::int32_t> done_;
  std::vector<std::vector<Waiting>> waiting_;
};

}  // namespace

void require_runnable(const Problem& problem, const KernelShape& kernel, const BackwardProblem& tiles,
                      const BackwardSchedule& schedule) {
  require_valid(problem);
  natten_sim::require_valid(tiles);
  natten_sim::require_valid(tiles, schedule);
  const BackwardProblem own = is_grouped(problem, tiles) ? grouped_problem(problem, kernel, tiles.workers)
                                                         : scheduling_problem(problem, kernel, tiles.workers);
  if (tiles.heads != own.heads || tiles.heads_per_kv_head != own.heads_per_kv_head) {
    throw InvalidParameter(
        "heads", std::to_string(tiles.heads) + " in groups of " + std::to_string(tiles.heads_per_kv_head),
        std::to_string(own.heads) + " in groups of " + std::to_string(own.heads_per_kv_head) +
            ", as the problem has");
  }
  const auto attends = [](TileWork work) { return work != TileWork::kNone; };
  const bool same = tiles.mask.q_tiles == own.mask.q_tiles && tiles.mask.kv_tiles == own.mask.kv_tiles &&
                    std::equal(own.mask.work.begin(), own.mask.work.end(), tiles.mask.work.begin(),
                               [&](TileWork a, TileWork b) { return attends(a) == attends(b); });
  if (!same) {
    throw InvalidParameter(
        "mask", std::to_string(tiles.mask.q_tiles) + " x " + std::to_string(tiles.mask.kv_tiles),
        "the " + std::to_string(own.mask.q_tiles) + " x " + std::to_string(own.mask.kv_tiles) +
            " tiles that the problem's mask has with this kernel's tiles");
  }
  if (schedule.dq_order.empty()) return;  // nobody waits
  if (schedule.dispatch == Dispatch::kDynamic) {
    require_launched_in_order(tiles, schedule);
  } else {
    SerialRun(tiles, schedule).require_end();
  }
}

WorkList work_list(const Problem& problem, const KernelShape& kernel, const BackwardProblem& tiles,
                   const BackwardSchedule& schedule) {
  const BlockMask mask = block_mask(problem, kernel);
  const PatternTable patterns = pattern_table(problem, kernel, mask);
  const std::vector<std::int32_t> turns = turns_of(tiles, schedule);
  const auto heads_kv = static_cast<std::int32_t>(problem.heads_kv);
  const auto group = static_cast<std::int32_t>(problem.heads / problem.heads_kv);
  // Heads of the schedule that share a KV head, and query heads of a chain.
  const std::int32_t chains_of_group = is_grouped(problem, tiles) ? 1 : group;
  const std::int32_t heads_of_chain = group / chains_of_group;
  WorkList list;
  list.patterns = patterns.patterns;
  const auto add_chain = [&](const ScheduledChain& chain) {
    Task task;
    task.kv_tile = static_cast<std::uint16_t>(chain.kv_tile);
    const std::int32_t kv_head = chain.head / chains_of_group % heads_kv;
    const std::int32_t first_head = kv_head * group + chain.head % chains_of_group * heads_of_chain;
    task.kv_head = static_cast<std::uint16_t>(kv_head);
    task.head = static_cast<std::uint16_t>(first_head);
    task.batch = static_cast<std::uint16_t>(chain.head / chains_of_group / heads_kv);
    list.chains.push_back({static_cast<std::int32_t>(list.tasks.size()),
                           static_cast<std::int32_t>(std::max<std::size_t>(chain.q_order.size(), 1))});
    if (chain.q_order.empty()) {
      task.flags = kMasked | kNoDq | kLast;
      task.pattern = patterns.nothing;
      list.tasks.push_back(task);
    }
    for (std::size_t i = 0; i < chain.q_order.size(); ++i) {
      const std::int32_t place = chain.q_order[i], q = place % mask.q_tiles;
      task.head = static_cast<std::uint16_t>(first_head + place / mask.q_tiles);
      task.q_tile = static_cast<std::uint16_t>(q);
      task.flags = mask.at(q, chain.kv_tile) == TileWork::kPartial ? kMasked : 0;
      if (!patterns.of.empty()) task.pattern = patterns.of[mask_cell(mask, q, chain.kv_tile)];
      if (i + 1 == chain.q_order.size()) task.flags = static_cast<std::uint16_t>(task.flags | kLast);
      task.rank =
          turns.empty()
              ? 0
              : static_cast<std::uint16_t>(
                    turns[cell_of(tiles, chain.head, place) * static_cast<std::size_t>(mask.kv_tiles) +
                          static_cast<std::size_t>(chain.kv_tile)]);
      list.tasks.push_back(task);
    }
  };
  if (schedule.dispatch == Dispatch::kDynamic) {
    for (const ScheduledChain& chain : schedule.chains) add_chain(chain);
    return list;
  }
  list.worker_begin.push_back(0);
  for (const std::vector<std::size_t>& chains : lists_of(tiles, schedule)) {
    for (const std::size_t chain : chains) add_chain(schedule.chains[chain]);
    list.worker_begin.push_back(static_cast<std::int32_t>(list.chains.size()));
  }
  return list;
}

}  // namespace natten_sim::kernels::attention_backward

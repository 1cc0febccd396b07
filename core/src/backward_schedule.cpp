#include <algorithm>
#include <functional>
#include <string>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim {
namespace {

void require_positive(const char* parameter, std::int32_t value) {
  if (value < 1) throw InvalidParameter(parameter, std::to_string(value), "1 or more");
}

std::string chain_name(std::int32_t head, std::int32_t kv_tile) {
  return "head " + std::to_string(head) + ", KV tile " + std::to_string(kv_tile);
}

/// Requires `order` to hold each of `wanted` (ascending) once; where() says whose it is.
template <typename Where>
void require_permutation(const char* parameter, const Where& where,
                         const std::vector<std::int32_t>& order, const std::vector<std::int32_t>& wanted) {
  std::vector<std::int32_t> sorted = order;
  std::sort(sorted.begin(), sorted.end(), polled(std::less<>()));
  if (sorted == wanted) return;
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) {
    throw InvalidParameter(parameter, "tile " + std::to_string(*repeated) + " twice at " + where(),
                           "each attended tile once");
  }
  for (std::int32_t tile : sorted) {
    if (!std::binary_search(wanted.begin(), wanted.end(), tile)) {
      throw InvalidParameter(parameter, "tile " + std::to_string(tile) + " at " + where(),
                             "attended tiles only");
    }
  }
  for (std::int32_t tile : wanted) {
    if (!std::binary_search(sorted.begin(), sorted.end(), tile)) {
      throw InvalidParameter(parameter, "tile " + std::to_string(tile) + " missing at " + where(),
                             "each attended tile once");
    }
  }
}

}  // namespace

void require_valid(const BackwardProblem& problem) {
  require_positive("q_tiles", problem.mask.q_tiles);
  require_positive("kv_tiles", problem.mask.kv_tiles);
  require_positive("heads", problem.heads);
  require_positive("workers", problem.workers);
  if (problem.workers > kMaxWorkers) {
    throw InvalidParameter("workers", std::to_string(problem.workers), "1.." + std::to_string(kMaxWorkers));
  }
  require_positive("heads_per_kv_head", problem.heads_per_kv_head);
  if (problem.heads % problem.heads_per_kv_head != 0) {
    throw InvalidParameter("heads_per_kv_head", std::to_string(problem.heads_per_kv_head),
                           "a divisor of the heads, " + std::to_string(problem.heads));
  }
  require_positive("merged_heads", problem.merged_heads);
  if (problem.mask.q_tiles % problem.merged_heads != 0) {
    throw InvalidParameter("merged_heads", std::to_string(problem.merged_heads),
                           "a divisor of the Q tiles, " + std::to_string(problem.mask.q_tiles));
  }
  const std::size_t cells =
      static_cast<std::size_t>(problem.mask.q_tiles) * static_cast<std::size_t>(problem.mask.kv_tiles);
  if (problem.mask.work.size() != cells) {
    throw InvalidParameter("mask", std::to_string(problem.mask.work.size()) + " cells",
                           std::to_string(cells) + " cells");
  }
}

std::vector<std::int32_t> attended_q_tiles(const BlockMask& mask, std::int32_t kv_tile) {
  return mask.attended().q_of_kv[static_cast<std::size_t>(kv_tile)];
}

std::vector<std::int32_t> attended_kv_tiles(const BlockMask& mask, std::int32_t q_tile) {
  return mask.attended().kv_of_q[static_cast<std::size_t>(q_tile)];
}

void require_valid(const BackwardProblem& problem, const BackwardSchedule& schedule) {
  require_valid(problem);
  const BlockMask& mask = problem.mask;
  const std::size_t chains =
      static_cast<std::size_t>(problem.heads) * static_cast<std::size_t>(mask.kv_tiles);
  if (schedule.chains.size() != chains) {
    throw InvalidParameter("chains", std::to_string(schedule.chains.size()),
                           std::to_string(chains) + ", heads times KV tiles");
  }
  const std::vector<std::vector<std::int32_t>>& wanted = mask.attended().q_of_kv;
  std::vector<bool> seen(chains, false);
  for (const ScheduledChain& chain : schedule.chains) {
    poll();
    if (chain.head < 0 || chain.head >= problem.heads || chain.kv_tile < 0 ||
        chain.kv_tile >= mask.kv_tiles) {
      throw InvalidParameter("chains", chain_name(chain.head, chain.kv_tile),
                             "heads 0.." + std::to_string(problem.heads - 1) + ", KV tiles 0.." +
                                 std::to_string(mask.kv_tiles - 1));
    }
    const std::size_t id = static_cast<std::size_t>(chain.head) * static_cast<std::size_t>(mask.kv_tiles) +
                           static_cast<std::size_t>(chain.kv_tile);
    if (seen[id])
      throw InvalidParameter("chains", chain_name(chain.head, chain.kv_tile) + " twice", "each chain once");
    seen[id] = true;
    require_permutation(
        "q_order", [&] { return chain_name(chain.head, chain.kv_tile); }, chain.q_order,
        wanted[static_cast<std::size_t>(chain.kv_tile)]);
  }
  if (schedule.dispatch == Dispatch::kStatic) {
    if (schedule.worker.size() != chains) {
      throw InvalidParameter("worker", std::to_string(schedule.worker.size()) + " workers",
                             std::to_string(chains) + ", one a chain");
    }
    for (std::int32_t worker : schedule.worker) {
      if (worker < 0 || worker >= problem.workers) {
        throw InvalidParameter("worker", std::to_string(worker), "0.." + std::to_string(problem.workers - 1));
      }
    }
  } else if (!schedule.worker.empty()) {
    throw InvalidParameter("worker", "given", "none for dynamic dispatch");
  }
  if (schedule.dq_order.empty()) return;
  const std::size_t cells = static_cast<std::size_t>(problem.heads) * static_cast<std::size_t>(mask.q_tiles);
  if (schedule.dq_order.size() != cells) {
    throw InvalidParameter("dq_order", std::to_string(schedule.dq_order.size()) + " dQ tiles",
                           std::to_string(cells) + ", heads times Q tiles");
  }
  const std::vector<std::vector<std::int32_t>>& wanted_kv = mask.attended().kv_of_q;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    poll();
    const std::size_t q = cell % static_cast<std::size_t>(mask.q_tiles);
    const auto where = [&] {
      return "head " + std::to_string(cell / static_cast<std::size_t>(mask.q_tiles)) + ", Q tile " + std::to_string(q);
    };
    require_permutation("dq_order", where, schedule.dq_order[cell], wanted_kv[q]);
  }
}

}  // namespace natten_sim

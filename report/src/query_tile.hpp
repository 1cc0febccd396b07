#pragma once

#include <cstddef>
#include <cstdint>

#include <natten_sim/core/backward_schedule.hpp>

namespace natten_sim::report {

/// A Q tile of a query head.
struct QueryTile {
  std::int32_t head = 0;
  std::int32_t q_tile = 0;
};

/// That of a chain's task: chains of KV heads have the tiles of several query heads.
[[nodiscard]] inline QueryTile query_tile(const BackwardProblem& problem, const ScheduledChain& chain, std::size_t task) {
  const std::int32_t tiles = problem.mask.q_tiles / problem.merged_heads;
  const std::int32_t q = chain.q_order[task];
  return {chain.head * problem.merged_heads + q / tiles, q % tiles};
}

}  // namespace natten_sim::report

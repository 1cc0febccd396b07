#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <natten_sim/kernels/attention_backward/problem.hpp>

#include "attention_backward/work_list.hpp"

namespace natten_sim::kernels::attention_backward {

[[nodiscard]] inline std::size_t mask_cell(const BlockMask& mask, std::int32_t q_tile, std::int32_t kv_tile) {
  return static_cast<std::size_t>(q_tile) * static_cast<std::size_t>(mask.kv_tiles) +
         static_cast<std::size_t>(kv_tile);
}

/// Whether chains run over all heads of a group: see grouped_problem.
[[nodiscard]] inline bool is_grouped(const Problem& problem, const BackwardProblem& tiles) {
  return problem.heads != problem.heads_kv && tiles.heads_per_kv_head == 1;
}

/// What hides the scores of partial tiles, each pattern once.
struct PatternTable {
  std::vector<Pattern> patterns;
  std::vector<std::uint16_t> of;  ///< by mask_cell; that of a tile that is not partial is not used
  std::uint16_t nothing = 0;      ///< hides all scores
};

/// Empty without Problem::pairs. O(pairs of tokens in partial tiles). @throws InvalidParameter: more than
/// 65,536 different patterns.
[[nodiscard]] PatternTable pattern_table(const Problem& problem, const KernelShape& kernel,
                                         const BlockMask& mask);

}  // namespace natten_sim::kernels::attention_backward

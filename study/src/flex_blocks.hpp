#pragma once

#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/study/setting.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {

/// Tokens of a Q and of a KV block, and what one that masks nothing counts against one that does.
struct BlockTokens {
  std::int64_t q = 0, kv = 0;
  double full = 1, partial = 1, block = 0;  ///< times of such pairs, and of a Q block beside its pairs
};

/// FlexAttention's blocks may have any shape. Those that a pass of `kernel` was timed with on the setting's
/// device, else FlexAttention's default of 128 tokens. The setting is resolved.
[[nodiscard]] BlockTokens block_tokens(const TimedKernel& kernel, const Setting& setting, Walk pass,
                                       const Catalog& catalog);

/// Boxes of as many tokens with a power of two on each axis, none longer than the least that holds the axis.
[[nodiscard]] std::vector<Extents> block_boxes(const Extents& input, std::int64_t tokens);

/// Boxes that take the least time on all SMs together, Q and KV alike where both are open: a shape that
/// `problem.tiles` has stays. Ties go to the shortest sides, which windows cut least, then to the longer inner
/// axes. One row of tokens is a block of its own for single-dimensional tiling.
[[nodiscard]] TilePair block_tiles(const TilingProblem& problem, const BlockTokens& tokens);

}  // namespace natten_sim::study

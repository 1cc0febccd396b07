#pragma once

#include <optional>

#include <natten_sim/core/tile_count.hpp>
#include <natten_sim/models/tiles/cost.hpp>
#include <natten_sim/study/setting.hpp>

namespace natten_sim::study {

/// Amdahl's law over the whole model, for the three speedups of the operation.
struct EndToEndSpeedup {
  AttentionShare share;
  double flop = 1, mean = 1, worst = 1;
};

/// A forward problem, its count, and what follows from them.
struct CountedTiles {
  TilingProblem problem;
  TileCount count;
  std::optional<Flops> flops;  ///< none: they do not fit in 127 bits
  double approximate_mma_flops = 0;
  bool natten_fast_path = false;              ///< NATTEN skips fine-grained masking
  std::optional<ExtraKvCount> extra_kv;       ///< when there are extra tokens
  std::optional<EndToEndSpeedup> end_to_end;  ///< when the attention share is known
};

/// `setting` is resolved. @throws OverflowError, InvalidParameter on an invalid share.
[[nodiscard]] CountedTiles counted_tiles(const TilingProblem& problem, const TileCount& count,
                                         const Setting& setting);

/// None where they do not fit in 127 bits. @throws InvalidParameter if a multiplier is not positive.
[[nodiscard]] std::optional<Flops> flops_that_fit(const TileCount& count, const Workload& workload);

}  // namespace natten_sim::study

#pragma once

#include <natten_sim/study/schedule.hpp>

namespace natten_sim::study {

/// The block mask of a question, and the sizes behind it.
struct MaskedTiles {
  BlockMask mask;
  std::optional<SequenceTiling> tokens;
  TileSizes given;  ///< as the question has them: before KV tiles are paired or filled up to the longest
};

/// @throws InvalidParameter, and UnknownName when the catalog lacks the default backend.
[[nodiscard]] MaskedTiles masked_tiles(const ScheduleSizes& sizes, const ScheduleMask& mask,
                                       std::int32_t ctas_per_chain, const Catalog& catalog);

/// How many pairs of tiles masked_tiles() would find, told at once; none: of masks that have to be made first.
[[nodiscard]] std::optional<std::int64_t> told_tiles(const ScheduleSizes& sizes, const ScheduleMask& mask,
                                                     std::int32_t ctas_per_chain);

}  // namespace natten_sim::study

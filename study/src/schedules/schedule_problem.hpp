#pragma once

#include <natten_sim/study/schedule.hpp>

namespace natten_sim::study {

/// The block mask of a question, and the tokens behind it.
struct MaskedTiles {
  BlockMask mask;
  std::optional<SequenceTiling> tokens;
};

/// @throws InvalidParameter, and UnknownName when the catalog lacks the default backend.
[[nodiscard]] MaskedTiles masked_tiles(const ScheduleSizes& sizes, const ScheduleMask& mask,
                                       const Catalog& catalog);

}  // namespace natten_sim::study

#pragma once

#include <cstdint>
#include <optional>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/schedule_mask.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

namespace natten_sim::study {

/// The rule as joined ones; none: tiles of its own.
[[nodiscard]] std::optional<JoinedMask> joined_of(const ScheduleMask& mask);

/// What a question says of the sizes of a given mask.
struct SaidSizes {
  std::optional<std::int64_t> q_tokens, kv_tokens, q_tile, kv_tile;
};

/// The sizes that question and mask agree on. Blocks that neither gives hold `block` tokens; documents and blocks bring
/// their tokens; keys are as many as queries.
/// @throws InvalidParameter where both say, and differ; for tokens that the blocks do not hold or nobody says; for
/// neighborhoods, which have layouts of their own.
[[nodiscard]] SequenceTiling sizes_of(const GivenMask& mask, const SaidSizes& said, std::int64_t block);

/// Its blocks, those of all its masks one below the other, and, of rules, the pairs of tokens of one. Blocks that the
/// end of a sequence cuts are partial. Rules are evaluated at any size of tiles; blocks that are given have theirs.
[[nodiscard]] TilesOfRules given_tiles(const GivenMask& mask, const SequenceTiling& tiling, const Catalog& catalog);

}  // namespace natten_sim::study

#pragma once

#include <optional>

#include <natten_sim/study/count.hpp>

namespace natten_sim::study {

/// Of a cyclic mask under `tiles` of FlexAttention. `setting` is resolved. None: no device, or no rate of copies there.
[[nodiscard]] std::optional<CycleCopies> cycle_copies(const Setting& setting, const NeighborhoodMask& mask,
                                                      const TilePair& tiles, const Context& context);

/// Bytes that are read and written to put tokens of the other end before and after those of a tensor, an axis at a time;
/// `row_bytes`: of one token.
[[nodiscard]] std::int64_t padding_bytes(const NeighborhoodMask& mask, std::int64_t row_bytes);

/// Whether tiles of this shape, row-major, hold tokens as they lie in the layout: a part of one axis, of those after it
/// all, of those before it one token.
[[nodiscard]] bool holds_rows(const Extents& tile, const Extents& input);

}  // namespace natten_sim::study

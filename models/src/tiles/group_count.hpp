#pragma once

#include <cstdint>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>

#include "tiles/axis_band.hpp"

namespace natten_sim {

/// Streamed tiles that one walked tile visits.
struct TileVisits {
  std::int64_t visited = 0;
  std::int64_t full_from = 0;  // streamed tiles full_from .. full_to-1 are full; may be empty or inverted
  std::int64_t full_to = 0;
};

/// Those of walked tile [first, last]. A streamed tile is full iff the latest window begins at or before it
/// and the earliest window ends at or after its in-bounds part.
[[nodiscard]] TileVisits visits_of(const AxisBand& band, const Divisor& streamed, bool is_static,
                                   std::int64_t first, std::int64_t last) noexcept;

/// Sums over walked tiles of one dilation group.
struct GroupCount {
  Int128 visited = 0;
  Int128 full = 0;
  std::int64_t max_visited = 0;

  void add(const TileVisits& visits) noexcept {
    visited += visits.visited;
    full += visits.full_to > visits.full_from ? visits.full_to - visits.full_from : 0;
    max_visited = max_visited > visits.visited ? max_visited : visits.visited;
  }
};

/// The first `tiles` walked tiles of a group, or all where it has fewer. Takes group_count_steps() steps.
[[nodiscard]] GroupCount count_group(const AxisBand& band, const AxisTiles& sizes, bool is_static,
                                     std::int64_t tiles);

/// Progressions of walked tiles that count_group() adds up; each costs O(log(its tiles)).
[[nodiscard]] std::int64_t group_count_steps(const AxisBand& band, const AxisTiles& sizes);

}  // namespace natten_sim

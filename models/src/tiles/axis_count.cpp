#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>

#include "tiles/axis_band.hpp"

namespace natten_sim {
namespace {

struct TileVisits {
  std::int64_t visited = 0;
  std::int64_t full_from = 0;  // streamed tiles full_from .. full_to-1 are full; may be empty or inverted
  std::int64_t full_to = 0;
};

struct GroupCount {
  Int128 visited = 0;
  Int128 full = 0;
  std::int64_t max_visited = 0;

  void add(const TileVisits& visits) noexcept {
    visited += visits.visited;
    full += std::max<std::int64_t>(0, visits.full_to - visits.full_from);
    max_visited = std::max(max_visited, visits.visited);
  }
};

/// Streamed tiles that walked tile [first, last] visits. A streamed tile is full iff the latest window
/// begins at or before it and the earliest window ends at or behind its in-bounds part.
TileVisits visits_of(const AxisBand& band, const Divisor& streamed, bool is_static, std::int64_t first,
                     std::int64_t last) noexcept {
  const std::int64_t earliest_begin = band.begin(first), earliest_end = band.end(first);
  const std::int64_t origin = is_static ? streamed.floor_multiple(earliest_begin) : earliest_begin;
  TileVisits visits;
  visits.visited = streamed.ceil(band.end(last) - origin);
  visits.full_from = streamed.ceil(band.begin(last) - origin);
  visits.full_to = earliest_end == band.length ? visits.visited : streamed.floor(earliest_end - origin);
  return visits;
}

/// Sum of max(0, start + i * step) for i = 0 .. count-1.
Int128 positive_series(Int128 start, Int128 step, Int128 count) noexcept {
  if (step < 0) return positive_series(start + step * (count - 1), -step, count);
  if (step == 0) return start > 0 ? start * count : 0;
  const Int128 skipped = start >= 0 ? 0 : std::min(count, (-start + step - 1) / step);
  const Int128 left = count - skipped;
  return left * (start + skipped * step) + step * (left * (left - 1) / 2);
}

/// Walked tiles after which the counts of a stretch repeat, at most `tile_count`.
std::int64_t period_of(const AxisBand& band, const AxisTiles& tiles, std::int64_t first_token,
                       std::int64_t tile_count) {
  const bool begin_climbs = band.begin.climbs_from(first_token),
             end_climbs = band.end.climbs_from(first_token);
  if (!begin_climbs && !end_climbs) return 1;
  constexpr std::int64_t kNotWorthIt = 4;  // finding the period costs as much as a few tiles
  if (tile_count <= kNotWorthIt) return tile_count;
  std::int64_t tiles_in_period = 1;
  const auto take_multiple_of =
      [&](std::int64_t tokens) {  // the least common multiple, while it is shorter than the stretch
        if (tiles_in_period >= tile_count) return;
        const std::int64_t period_tokens = tiles_in_period * tiles.walked;  // no more than the axis
        tiles_in_period = static_cast<std::int64_t>(std::min<Int128>(
            static_cast<Int128>(tokens / std::gcd(period_tokens, tokens)) * tiles_in_period, tile_count));
      };
  take_multiple_of(tiles.streamed);
  if (begin_climbs) take_multiple_of(band.begin.step.value());
  if (end_climbs) take_multiple_of(band.end.step.value());
  return tiles_in_period;
}

/// Adds `tile_count` whole tiles from `first_token` on, between two breaks of the staircases; see count_axis.
void count_stretch(const AxisBand& band, const AxisTiles& tiles, const Divisor& streamed, bool is_static,
                   std::int64_t first_token, std::int64_t tile_count, GroupCount& count) {
  const std::int64_t period = period_of(band, tiles, first_token, tile_count);
  std::int64_t growth = 0;  // of the visited tiles, a period
  if (period < tile_count) {
    const std::int64_t shift = period * tiles.walked / tiles.streamed;
    growth =
        (band.end.climbs_from(first_token) ? shift : 0) - (band.begin.climbs_from(first_token) ? shift : 0);
  }
  for (std::int64_t i = 0; i < period; ++i) {
    const std::int64_t first = first_token + i * tiles.walked;
    const TileVisits visits = visits_of(band, streamed, is_static, first, first + tiles.walked - 1);
    const std::int64_t repeats = period == tile_count ? 1 : (tile_count - i - 1) / period + 1;
    if (repeats == 1) {
      count.add(visits);
      continue;
    }
    const Int128 last_visited = visits.visited + static_cast<Int128>(growth) * (repeats - 1);
    count.visited += (visits.visited + last_visited) * repeats / 2;
    count.full += positive_series(visits.full_to - visits.full_from, growth, repeats);
    count.max_visited =
        std::max({count.max_visited, visits.visited, static_cast<std::int64_t>(last_visited)});
  }
}

GroupCount count_group(const AxisBand& band, const AxisTiles& tiles, bool is_static) {
  std::array<std::int64_t, 5> breaks = {band.begin.low_until, band.begin.high_from, band.end.low_until,
                                        band.end.high_from, band.length};
  std::sort(breaks.begin(), breaks.end());
  const Divisor walked(tiles.walked), streamed(tiles.streamed);
  GroupCount count;
  std::int64_t token = 0;
  for (std::int64_t next : breaks) {
    while (token < next) {
      const std::int64_t whole_tiles = walked.floor(next - token);
      if (whole_tiles > 0) {
        count_stretch(band, tiles, streamed, is_static, token, whole_tiles, count);
        token += whole_tiles * tiles.walked;
        continue;
      }
      // A tile across a break of the staircases, or the cut-off last one.
      const std::int64_t last = std::min(token + tiles.walked, band.length) - 1;
      count.add(visits_of(band, streamed, is_static, token, last));
      token += tiles.walked;
    }
  }
  return count;
}

/// Sum of window lengths over the queries of one group.
Int128 pairs_of_group(const AxisGroup& group) noexcept {
  const Int128 length = group.length, stride = group.stride;
  if (!group.causal) return length * group.window;
  // Ends sum to L(L+1)/2. Begins are (g+1)s - w where positive, but L - w in the last stride group.
  const Int128 last_group = (length - 1) / stride;
  const Int128 last_begin = length - group.window;
  const Int128 first_positive = std::min<Int128>((group.window - stride) / stride + 1, last_group);
  const Int128 groups = last_group - first_positive;
  const Int128 begins = stride * (groups * (first_positive * stride + stride - group.window) +
                                  stride * (groups * (groups - 1) / 2)) +
                        (length - last_group * stride) * last_begin;
  return length * (length + 1) / 2 - begins;
}

}  // namespace

AxisCount count_axis(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling, Walk walk) {
  AxisCount total;
  Int128 visited = 0, full = 0, pairs = 0;
  const std::int64_t longer_groups =
      axis.dilation == 1 ? 0 : axis.length % axis.dilation;  // residues 0 .. longer_groups-1
  const auto add = [&](const AxisGroup& group, std::int64_t groups) {
    const GroupCount count = count_group(axis_band(group, walk), tiles, kv_tiling == KvTiling::kStatic);
    total.walked_tiles += groups * Divisor(tiles.walked).ceil(group.length);  // at most axis.length
    total.max_tiles_per_walked_tile = std::max(total.max_tiles_per_walked_tile, count.max_visited);
    visited += count.visited * groups;
    full += count.full * groups;
    pairs += pairs_of_group(group) * groups;
  };
  if (axis.dilation == 1) {
    add({axis.length, axis.window, axis.stride, axis.causal}, 1);
  } else {
    if (longer_groups > 0) add(residue_class(axis, 0), longer_groups);
    add(residue_class(axis, longer_groups), axis.dilation - longer_groups);
  }
  total.visited_tiles = checked_narrow(visited, "visited_tiles");
  total.full_tiles = checked_narrow(full, "full_tiles");
  total.attended_pairs = checked_narrow(pairs, "attended_pairs");
  return total;
}

std::int64_t attended_pairs(const AxisMask& axis) {
  const std::int64_t longer_groups = axis.length % axis.dilation;
  Int128 pairs = pairs_of_group(residue_class(axis, longer_groups)) * (axis.dilation - longer_groups);
  if (longer_groups > 0) pairs += pairs_of_group(residue_class(axis, 0)) * longer_groups;
  return checked_narrow(pairs, "attended_pairs");
}

bool has_partial_tile_near_breaks(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling) {
  const AxisBand band = axis_band(residue_class(axis, 0), Walk::kForward);
  const Divisor walked(tiles.walked), streamed(tiles.streamed);
  for (const std::int64_t token : {band.begin.low_until, band.begin.high_from}) {
    for (std::int64_t tile = walked.floor(std::max<std::int64_t>(token - 1, 0)), end = tile + 3; tile < end;
         ++tile) {
      const std::int64_t first = tile * tiles.walked;
      if (first >= band.length) break;
      const std::int64_t last = std::min(first + tiles.walked, band.length) - 1;
      const TileVisits visits = visits_of(band, streamed, kv_tiling == KvTiling::kStatic, first, last);
      if (visits.full_to - visits.full_from < visits.visited) return true;
    }
  }
  return false;
}

}  // namespace natten_sim

#include <algorithm>
#include <cstdint>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>

#include "tiles/axis_band.hpp"
#include "tiles/cycle_count.hpp"
#include "tiles/group_count.hpp"

namespace natten_sim {
namespace {

constexpr std::int64_t kLongestInWords = std::int64_t{1} << 30;  // twice its square fits in 63 bits

/// Sum of window lengths over the queries of one group.
template <typename Int>
Int pairs_of_group(const AxisGroup& group) noexcept {
  const Int length = group.length, stride = group.stride, window = group.window;
  if (!group.causal) return length * window;
  // Ends sum to L(L+1)/2. Begins are (g+1)s - w where positive, but L - w in the last stride group.
  const Int last_group = (length - 1) / stride;
  const Int last_begin = length - window;
  const Int first_positive = std::min<Int>((window - stride) / stride + 1, last_group);
  const Int groups = last_group - first_positive;
  const Int begins = stride * (groups * (first_positive * stride + stride - window) +
                                  stride * (groups * (groups - 1) / 2)) +
                        (length - last_group * stride) * last_begin;
  return length * (length + 1) / 2 - begins;
}

/// Calls add(group, how many) for each length that dilation groups have, the longer first.
template <typename Add>
void for_each_group_length(const AxisMask& axis, const Add& add) {
  if (axis.dilation == 1) {
    return add({axis.length, axis.window, axis.stride, axis.causal, axis.cyclic && axis.window < axis.length},
               1);
  }
  const std::int64_t longer_groups = axis.length % axis.dilation;  // residues 0 .. longer_groups-1
  if (longer_groups > 0) add(residue_class(axis, 0), longer_groups);
  add(residue_class(axis, longer_groups), axis.dilation - longer_groups);
}

}  // namespace

AxisCount count_axis(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling, Walk walk) {
  AxisCount total;
  total.attended_pairs = attended_pairs(axis);  // at least as many as visited tiles: these fit too
  Int128 visited = 0, full = 0;
  for_each_group_length(axis, [&](const AxisGroup& group, std::int64_t groups) {
    const std::int64_t walked_tiles = Divisor(tiles.walked).ceil(group.length);
    const GroupCount count =
        group.cyclic
            ? count_cycle(group, tiles, walk)
            : count_group(axis_band(group, walk), tiles, kv_tiling == KvTiling::kStatic, walked_tiles);
    total.walked_tiles += groups * walked_tiles;  // at most axis.length
    total.max_tiles_per_walked_tile = std::max(total.max_tiles_per_walked_tile, count.max_visited);
    visited += count.visited * groups;
    full += count.full * groups;
  });
  total.visited_tiles = checked_narrow(visited, "visited_tiles");
  total.full_tiles = checked_narrow(full, "full_tiles");
  return total;
}

std::int64_t count_axis_steps(const AxisMask& axis, const AxisTiles& tiles, Walk walk) {
  std::int64_t steps = 0;
  for_each_group_length(axis, [&](const AxisGroup& group, std::int64_t) {
    steps += group.cyclic ? cycle_count_steps(group, tiles, walk)
                          : group_count_steps(axis_band(group, walk), tiles);
  });
  return steps;
}

std::int64_t attended_pairs(const AxisMask& axis) {
  Int128 pairs = 0;
  for_each_group_length(axis, [&](const AxisGroup& group, std::int64_t groups) {
    const Int128 of_group = group.length < kLongestInWords ? pairs_of_group<std::int64_t>(group) : pairs_of_group<Int128>(group);
    pairs += of_group * groups;
  });
  return checked_narrow(pairs, "attended_pairs");
}

bool has_partial_tile_near_breaks(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling) {
  const AxisGroup group = residue_class(axis, 0);
  if (group.cyclic) return false;  // no breaks
  const AxisBand band = axis_band(group, Walk::kForward);
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

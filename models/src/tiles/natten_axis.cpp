#include "tiles/natten_axis.hpp"

#include <algorithm>

#include <natten_sim/core/checked.hpp>

#include "tiles/group_count.hpp"

namespace natten_sim {
namespace {

/// First query whose window ends with the axis: of equal windows, the first stride group.
std::int64_t first_query_at_end(const AxisGroup& group) {
  std::int64_t low = 0, high = group.length - 1;  // the last query's window does
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (attended_range(group, middle).end == group.length) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Walked tiles of a cycle for which the streamed tile that begins at `last_tile` is full. What a window leaves
/// out comes after it: the groups for which that reaches into the tile are neighbors, up to the seam.
std::int64_t full_at_seam(const AxisGroup& group, std::int64_t walked, std::int64_t last_tile) {
  const std::int64_t length = group.length, stride = group.stride;
  const std::int64_t end_of_first = stride / 2 - group.window / 2 + group.window;
  const std::int64_t last_group = (length - 1) / stride;
  std::int64_t partial = 0, counted = 0;  // walked tiles; those before `counted` are
  for (const std::int64_t turn : {std::int64_t{0}, length}) {
    const std::int64_t after = turn + last_tile - (length - group.window) - end_of_first;
    const std::int64_t before = turn + length - end_of_first;
    const std::int64_t first = after < 0 ? 0 : after / stride + 1;
    const std::int64_t last = std::min((before - 1) / stride, last_group);
    if (first > last) continue;
    const std::int64_t from = std::max(first * stride / walked, counted);
    const std::int64_t to = (std::min((last + 1) * stride, length) - 1) / walked + 1;
    partial += std::max<std::int64_t>(0, to - from);
    counted = std::max(counted, to);
  }
  return ceil_divide(length, walked) - partial;
}

/// Tiles that FlexAttention calls full: padded keys never attend, so a cut-off last KV tile is not full.
std::int64_t full_with_padding(const AxisGroup& group, const AxisTiles& tiles, std::int64_t full) {
  if (group.length % tiles.streamed == 0) return full;
  if (group.cyclic)
    return full - full_at_seam(group, tiles.walked, (group.length - 1) / tiles.streamed * tiles.streamed);
  const std::int64_t walked_tiles = ceil_divide(group.length, tiles.walked);
  const std::int64_t reaching = walked_tiles - ceil_divide(first_query_at_end(group), tiles.walked);
  // The last of those KV tiles is full except for its padding, unless the window begins inside it.
  const std::int64_t last_tile = (group.length - 1) / tiles.streamed * tiles.streamed;
  return full - (group.length - group.window <= last_tile ? reaching : 0);
}

/// Streamed tiles that a walked tile behind the end of its group visits. Such a tile begins exactly at the
/// end: groups differ by one token, and only a length that the tile divides has a tile less.
std::int64_t visits_behind_end(const AxisGroup& group, std::int64_t streamed, Walk pass) {
  const std::int64_t length = group.length;
  std::int64_t begin = length;
  if (pass == Walk::kForward) {
    begin = length - group.window;
  } else if (!group.causal) {
    const std::int64_t right = (group.window + 1) / 2 - 1, behind_leader = (group.stride + 1) / 2 - 1;
    begin = (length - right + behind_leader) / group.stride * group.stride;
  }
  return ceil_divide(length, streamed) - begin / streamed;
}

NattenAxisGroups count_groups(const AxisMask& axis, const AxisGroup& group, std::int64_t groups,
                              const AxisTiles& tiles, NattenBackend backend, Walk pass,
                              const AxisCount* known) {
  NattenAxisGroups counted;
  counted.group = group;
  counted.groups = groups;
  const AxisMask alone{group.length, group.window, group.stride, 1, group.causal, group.cyclic};
  const bool whole = known != nullptr && axis.dilation == 1;  // the group is the axis
  const AxisCount count = whole ? *known : count_axis(alone, tiles, streamed_tiling(backend, pass), pass);
  counted.tiles = counted.launched = count.walked_tiles;
  counted.visited = count.visited_tiles;
  counted.full = count.full_tiles;
  if (backend == NattenBackend::kHopperFna || backend == NattenBackend::kBlackwellFna) {
    counted.launched = ceil_divide(ceil_divide(axis.length, tiles.walked), axis.dilation);
    counted.empty_visits =
        (counted.launched - counted.tiles) * visits_behind_end(group, tiles.streamed, pass);
  } else if (backend == NattenBackend::kCutlassFna && pass == Walk::kForward) {
    counted.launched = ceil_divide(ceil_divide(axis.length, axis.dilation), tiles.walked);
  }
  const std::int64_t q_tile = pass == Walk::kForward ? tiles.walked : tiles.streamed;
  const std::int64_t kv_tile = pass == Walk::kForward ? tiles.streamed : tiles.walked;
  counted.block_sparse = !group.causal && !group.cyclic && group_is_block_sparse(group, q_tile, kv_tile);
  counted.padded = group.length % tiles.streamed != 0;
  return counted;
}

/// The block mask of the longest group serves all groups, and both passes: pairs of blocks are counted along
/// Q.
NattenAxisGroups count_flex(const AxisMask& axis, const AxisTiles& tiles, Walk pass, const AxisCount* known) {
  const AxisTiles along_q = pass == Walk::kForward ? tiles : AxisTiles{tiles.streamed, tiles.walked};
  const AxisGroup group = residue_class(axis, 0);
  NattenAxisGroups counted =
      count_groups(axis, group, axis.dilation, along_q, NattenBackend::kFlexFna, Walk::kForward, known);
  counted.full = full_with_padding(group, along_q, counted.full);
  counted.tiles = counted.launched = ceil_divide(group.length, tiles.walked);
  return counted;
}

}  // namespace

bool group_is_block_sparse(const AxisGroup& group, std::int64_t q_tile, std::int64_t kv_tile) {
  const std::int64_t length = group.length, window = group.window, stride = group.stride;
  if (length == window) return true;
  if (stride % q_tile != 0 || window % kv_tile != 0) return false;
  // The last window begins at length - window.
  if (length % stride != 0 && length % kv_tile != 0) return false;
  return (window / 2 - stride / 2) % kv_tile == 0 ||
         (length % kv_tile == 0 && ceil_divide(length, stride) == 2);  // two windows, one at each end
}

NattenAxis natten_axis(const AxisMask& axis, const AxisTiles& tiles, NattenBackend backend, Walk pass,
                       const AxisCount* counted_axis) {
  NattenAxis counted;
  const std::int64_t longer = axis.length % axis.dilation;  // residues 0 .. longer-1; none: all are equal
  if (backend == NattenBackend::kFlexFna) {
    counted.lengths[counted.count++] = count_flex(axis, tiles, pass, counted_axis);
    return counted;
  }
  if (longer > 0) {
    counted.lengths[counted.count++] =
        count_groups(axis, residue_class(axis, 0), longer, tiles, backend, pass, nullptr);
  }
  counted.lengths[counted.count++] = count_groups(axis, residue_class(axis, longer), axis.dilation - longer,
                                                  tiles, backend, pass, counted_axis);
  return counted;
}

std::int64_t dynamic_visits_of_first(const AxisGroup& group, const AxisTiles& tiles, std::int64_t count) {
  if (count == 0) return 0;
  return checked_narrow(count_group(axis_band(group, Walk::kForward), tiles, false, count).visited, "visited_tiles");
}

}  // namespace natten_sim

#include "brute_force.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include <natten_sim/core/wide_integer.hpp>

namespace natten_sim::test {
namespace {

using Coordinates = std::vector<std::int64_t>;
using Matrix = std::vector<std::vector<bool>>;

/// One dilation group of an axis, without dilation.
Matrix group_mask(std::int64_t length, std::int64_t window, std::int64_t stride, bool causal, bool cyclic) {
  Matrix mask(static_cast<std::size_t>(length), std::vector<bool>(static_cast<std::size_t>(length), false));
  for (std::int64_t query = 0; query < length; ++query) {
    const std::int64_t group = query / stride;
    if (cyclic) {
      for (std::int64_t i = 0; i < window; ++i) {
        const std::int64_t key = group * stride + stride / 2 - window / 2 + i;
        mask[static_cast<std::size_t>(query)][static_cast<std::size_t>((key + length) % length)] = true;
      }
      continue;
    }
    const std::int64_t leader = std::min(group * stride + (causal ? stride - 1 : stride / 2), length - 1);
    std::int64_t best = 0;
    if (causal) {
      best = leader - window + 1;  // ends with the leader; may start before the axis
    } else {
      for (std::int64_t start = 0; start + window <= length; ++start) {
        if (std::abs(start - (leader - window / 2)) < std::abs(best - (leader - window / 2))) best = start;
      }
    }
    for (std::int64_t key = std::max<std::int64_t>(best, 0); key < std::min(best + window, length); ++key) {
      if (!causal || key <= query)
        mask[static_cast<std::size_t>(query)][static_cast<std::size_t>(key)] = true;
    }
  }
  return mask;
}

std::vector<Coordinates> all_tokens(const NeighborhoodMask& mask) {
  std::vector<Coordinates> tokens = {{}};
  for (const AxisMask& axis : mask) {
    std::vector<Coordinates> longer;
    for (const Coordinates& token : tokens) {
      for (std::int64_t i = 0; i < axis.length; ++i) {
        longer.push_back(token);
        longer.back().push_back(i);
      }
    }
    tokens = std::move(longer);
  }
  return tokens;
}

/// A token's group and its coordinates within it: for single-dimensional tiling one group and the row-major
/// index.
struct Place {
  Coordinates group;
  Coordinates position;
};

std::int64_t ceil_ratio(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Matrix axis_mask_by_definition(const AxisMask& axis) {
  Matrix mask(static_cast<std::size_t>(axis.length),
              std::vector<bool>(static_cast<std::size_t>(axis.length), false));
  for (std::int64_t residue = 0; residue < axis.dilation; ++residue) {
    std::int64_t length = 0;
    for (std::int64_t i = residue; i < axis.length; i += axis.dilation) ++length;
    const Matrix group = group_mask(length, axis.window, axis.stride, axis.causal, axis.cyclic);
    for (std::int64_t q = 0; q < length; ++q) {
      for (std::int64_t k = 0; k < length; ++k) {
        mask[static_cast<std::size_t>(residue + q * axis.dilation)]
            [static_cast<std::size_t>(residue + k * axis.dilation)] =
                group[static_cast<std::size_t>(q)][static_cast<std::size_t>(k)];
      }
    }
  }
  return mask;
}

TileCount count_by_tokens(const TilingProblem& problem) {
  const bool forward = problem.walk == Walk::kForward, single = problem.tiling == Tiling::kSingleDimensional;
  const std::vector<Coordinates> tokens = all_tokens(problem.mask);
  std::vector<Matrix> axis_masks;
  for (const AxisMask& axis : problem.mask) axis_masks.push_back(axis_mask_by_definition(axis));
  const auto attends = [&](const Coordinates& query, const Coordinates& key) {
    for (std::size_t axis = 0; axis < axis_masks.size(); ++axis) {
      if (!axis_masks[axis][static_cast<std::size_t>(query[axis])][static_cast<std::size_t>(key[axis])])
        return false;
    }
    return true;
  };
  std::vector<Place> places;
  for (std::size_t index = 0; index < tokens.size(); ++index) {
    Place place;
    if (single) {
      place.position = {static_cast<std::int64_t>(index)};
    } else {
      for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
        place.group.push_back(tokens[index][axis] % problem.mask[axis].dilation);
        place.position.push_back(tokens[index][axis] / problem.mask[axis].dilation);
      }
    }
    places.push_back(place);
  }
  const Extents& walked_size = forward ? problem.tiles.q_tile : problem.tiles.kv_tile;
  const Extents& streamed_size = forward ? problem.tiles.kv_tile : problem.tiles.q_tile;

  // Walked tiles: their tokens.
  std::map<std::pair<Coordinates, Coordinates>, std::vector<std::size_t>> walked_tiles;
  for (std::size_t index = 0; index < tokens.size(); ++index) {
    Coordinates tile = places[index].position;
    for (std::size_t axis = 0; axis < tile.size(); ++axis) tile[axis] /= walked_size[axis];
    walked_tiles[{places[index].group, tile}].push_back(index);
  }

  TileCount count;
  count.walk = problem.walk;
  for (const auto& [key, members] : walked_tiles) {
    const auto met = [&](std::size_t member, std::size_t other) {
      return forward ? attends(tokens[member], tokens[other]) : attends(tokens[other], tokens[member]);
    };
    // Where streamed tiles start: the grid, or the first token (on every axis) that the walked tile meets.
    Coordinates origin(streamed_size.rank(), 0);
    if (problem.kv_tiling == KvTiling::kDynamic) {
      origin.assign(streamed_size.rank(), INT64_MAX);
      for (std::size_t member : members) {
        for (std::size_t other = 0; other < tokens.size(); ++other) {
          if (!met(member, other)) continue;
          for (std::size_t axis = 0; axis < origin.size(); ++axis)
            origin[axis] = std::min(origin[axis], places[other].position[axis]);
        }
      }
    }
    std::map<Coordinates, std::int64_t> pairs_met, tokens_of_tile;
    for (std::size_t other = 0; other < tokens.size(); ++other) {
      if (places[other].group != key.first) continue;
      Coordinates tile = places[other].position;
      bool before = false;
      for (std::size_t axis = 0; axis < tile.size(); ++axis) {
        before = before || tile[axis] < origin[axis];
        tile[axis] = (tile[axis] - origin[axis]) / streamed_size[axis];
      }
      if (before) continue;  // dynamic: tokens before the first tile
      ++tokens_of_tile[tile];
      for (std::size_t member : members) {
        if (met(member, other)) ++pairs_met[tile];
      }
    }
    count.max_tiles_per_walked_tile =
        std::max(count.max_tiles_per_walked_tile, static_cast<std::int64_t>(pairs_met.size()));
    for (const auto& [tile, pairs] : pairs_met) {
      ++count.visited_tiles;
      count.attended_pairs += pairs;
      if (pairs == tokens_of_tile[tile] * static_cast<std::int64_t>(members.size())) ++count.full_tiles;
    }
  }
  const auto n = static_cast<std::int64_t>(tokens.size());
  const auto layout_tiles = [&](const Extents& size) {
    if (single) return ceil_ratio(n, size[0]);
    std::int64_t tiles = 1;
    for (std::size_t axis = 0; axis < size.rank(); ++axis)
      tiles *= ceil_ratio(problem.mask[axis].length, size[axis]);
    return tiles;
  };
  count.q_tiles = layout_tiles(problem.tiles.q_tile);
  count.kv_tiles = layout_tiles(problem.tiles.kv_tile);
  count.dense_tiles = count.q_tiles * count.kv_tiles;
  (forward ? count.q_tiles : count.kv_tiles) = static_cast<std::int64_t>(walked_tiles.size());
  count.dense_pairs = n * n;
  count.mma_pairs = count.visited_tiles;
  for (std::int64_t size : problem.tiles.q_tile) count.mma_pairs *= size;
  for (std::int64_t size : problem.tiles.kv_tile) count.mma_pairs *= size;
  return count;
}

std::string describe(const TilingProblem& problem) {
  std::ostringstream text;
  text << "input " << to_string(input_of(problem.mask)) << " window " << to_string(window_of(problem.mask))
       << " stride " << to_string(stride_of(problem.mask)) << " dilation "
       << to_string(dilation_of(problem.mask)) << " causal ";
  for (bool causal : causal_of(problem.mask)) text << causal;
  text << " cyclic ";
  for (bool cyclic : cyclic_of(problem.mask)) text << cyclic;
  text << " q_tile " << to_string(problem.tiles.q_tile) << " kv_tile " << to_string(problem.tiles.kv_tile)
       << " " << to_string(problem.kv_tiling) << " " << to_string(problem.tiling)
       << (problem.walk == Walk::kForward ? " forward" : " backward");
  return text.str();
}

std::string describe(const TileCount& count) {
  std::ostringstream text;
  text << "q_tiles " << count.q_tiles << " kv_tiles " << count.kv_tiles << " dense " << decimal(count.dense_tiles)
       << " visited " << count.visited_tiles << " full " << count.full_tiles << " max "
       << count.max_tiles_per_walked_tile << " attended " << count.attended_pairs << " mma "
       << count.mma_pairs;
  return text.str();
}

}  // namespace natten_sim::test

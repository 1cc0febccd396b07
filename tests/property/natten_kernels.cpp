#include "natten_kernels.hpp"

#include <algorithm>

namespace natten_sim::test {
namespace {

using Coord = std::vector<std::int64_t>;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// One axis as a kernel sees it inside a dilation group.
struct Axis {
  std::int64_t length, window, stride;
  bool causal;

  std::int64_t left() const { return window / 2; }
  std::int64_t right() const { return window / 2 + (window % 2 - 1); }

  std::int64_t window_start(std::int64_t index) const {
    if (causal) {
      const std::int64_t leader = std::min(index / stride * stride + stride - 1, length - 1);
      return std::max<std::int64_t>(leader - window + 1, 0);
    }
    const std::int64_t leader = std::min(index / stride * stride + stride / 2, length - 1);
    const std::int64_t shift = leader + right() >= length ? length - right() - leader - 1 : 0;
    return std::max<std::int64_t>(leader - left(), 0) + shift;
  }
  std::int64_t window_end(std::int64_t index) const {
    return causal ? std::min(index + 1, length) : window_start(index) + window;
  }
  std::int64_t backward_start(std::int64_t index) const {
    if (causal) return index;
    const std::int64_t offset = stride - stride / 2 - 1;
    return (index >= window ? index - right() + offset : 0) / stride * stride;
  }
  std::int64_t backward_end(std::int64_t index) const {
    if (causal) {
      const std::int64_t group = (index + window) / stride + (index + window >= length ? 1 : 0);
      return std::min(group * stride, length);
    }
    const std::int64_t offset = stride - stride / 2 - 1;
    return index >= length - window ? length : (index + left() + offset + 1) / stride * stride;
  }
  bool block_sparse(std::int64_t q_tile, std::int64_t kv_tile) const {
    const std::int64_t stride_groups = ceil_div(length, stride), center = stride / 2;
    const std::int64_t last_start = window_start(std::min(length / stride * stride + center, length - 1));
    return length == window ||
           (stride % q_tile == 0 && window % kv_tile == 0 &&
            (length % stride == 0 || last_start % kv_tile == 0) &&
            ((left() - center) % kv_tile == 0 ||
             (length % kv_tile == 0 && stride_groups == 2 && stride + center >= length - window)));
  }
};

struct Group {
  std::vector<Axis> axes;
};

bool any_causal(const Group& group) {
  return std::any_of(group.axes.begin(), group.axes.end(), [](const Axis& axis) { return axis.causal; });
}

/// Calls function(group) for every dilation group.
template <typename Function>
void for_each_group(const NeighborhoodMask& mask, const Function& function) {
  Coord residue(mask.rank(), 0);
  for (;;) {
    Group group;
    for (std::size_t a = 0; a < mask.rank(); ++a) {
      const std::int64_t d = mask[a].dilation, whole = mask[a].length / d;
      const std::int64_t padding = 1 - (residue[a] + (d - mask[a].length % d)) / d;
      group.axes.push_back({whole + padding, mask[a].window, mask[a].stride, mask[a].causal});
    }
    function(group);
    std::size_t a = mask.rank();
    while (a > 0 && ++residue[a - 1] == mask[a - 1].dilation) residue[--a] = 0;
    if (a == 0) return;
  }
}

/// Row-major coordinate of `index`; as in map_index_to_coord, the first one is not bounded.
Coord coordinate(std::int64_t index, const Coord& shape) {
  Coord coord(shape.size());
  for (std::size_t a = shape.size(); a-- > 1;) {
    coord[a] = index % shape[a];
    index /= shape[a];
  }
  coord[0] = index;
  return coord;
}

std::int64_t volume(const Coord& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

void add(KernelTrips& total, const Group& group, const TilePair& tiles, std::int64_t trips, bool empty,
         bool padded) {
  ++total.launched;
  total.empty += empty;
  total.trips += trips;
  total.empty_trips += empty ? trips : 0;
  bool sparse = !any_causal(group);
  for (std::size_t a = 0; a < group.axes.size(); ++a) {
    sparse = sparse && group.axes[a].block_sparse(tiles.q_tile[a], tiles.kv_tile[a]);
  }
  (!sparse ? total.masked : padded ? total.bounds : total.unmasked) += trips;
}

bool divides(const Group& group, const Extents& tile, std::size_t axes) {
  for (std::size_t a = 0; a < axes; ++a) {
    if (group.axes[a].length % tile[a] != 0) return false;
  }
  return true;
}

/// In evenly_divides of na_utils.cuh the third axis does not take part.
std::size_t cutlass_axes(std::size_t rank) { return std::min<std::size_t>(rank, 2); }

}  // namespace

KernelTrips hopper_forward(const NeighborhoodMask& mask, const TilePair& tiles) {
  KernelTrips total;
  for_each_group(mask, [&](const Group& group) {
    Coord q_tiled;  // token permutation: tiles of the padded layout, the same for every group
    for (std::size_t a = 0; a < mask.rank(); ++a) {
      q_tiled.push_back(ceil_div(ceil_div(mask[a].length, tiles.q_tile[a]), mask[a].dilation));
    }
    for (std::int64_t block = 0; block < volume(q_tiled); ++block) {
      const Coord tile = coordinate(block, q_tiled);
      std::int64_t trips = 1;
      bool empty = false;
      for (std::size_t a = 0; a < mask.rank(); ++a) {
        const Axis& axis = group.axes[a];
        const std::int64_t kv = tiles.kv_tile[a];
        const std::int64_t first = tile[a] * tiles.q_tile[a], last = first + tiles.q_tile[a] - 1;
        const std::int64_t start = axis.window_start(first) / kv * kv;
        trips *= ceil_div(ceil_div(axis.window_end(last), kv) * kv - start, kv);
        empty = empty || first >= axis.length;
      }
      add(total, group, tiles, trips, empty, !divides(group, tiles.kv_tile, mask.rank()));
    }
  });
  return total;
}

KernelTrips hopper_backward(const NeighborhoodMask& mask, const TilePair& tiles) {
  KernelTrips total;
  for_each_group(mask, [&](const Group& group) {
    Coord kv_tiled;
    for (std::size_t a = 0; a < mask.rank(); ++a) {
      kv_tiled.push_back(ceil_div(ceil_div(mask[a].length, tiles.kv_tile[a]), mask[a].dilation));
    }
    for (std::int64_t block = 0; block < volume(kv_tiled); ++block) {
      const Coord tile = coordinate(block, kv_tiled);
      std::int64_t trips = 1;
      bool empty = false;
      for (std::size_t a = 0; a < mask.rank(); ++a) {
        const Axis& axis = group.axes[a];
        const std::int64_t q = tiles.q_tile[a];
        const std::int64_t first = tile[a] * tiles.kv_tile[a], last = first + tiles.kv_tile[a] - 1;
        const std::int64_t start = axis.backward_start(first) / q * q;
        trips *= ceil_div(ceil_div(axis.backward_end(last), q) * q - start, q);
        empty = empty || first >= axis.length;
      }
      add(total, group, tiles, std::max<std::int64_t>(trips, 0), empty,
          !divides(group, tiles.q_tile, mask.rank()));
    }
  });
  return total;
}

KernelTrips cutlass_forward(const NeighborhoodMask& mask, const TilePair& tiles) {
  KernelTrips total;
  const std::size_t rank = mask.rank();
  std::int64_t grid = 1;
  for (std::size_t a = 0; a < rank; ++a) {
    grid *= ceil_div(ceil_div(mask[a].length, mask[a].dilation), tiles.q_tile[a]);
  }
  for_each_group(mask, [&](const Group& group) {
    Coord cta_shape;
    for (std::size_t a = 0; a < rank; ++a) {
      cta_shape.push_back(ceil_div(group.axes[a].length, tiles.q_tile[a]));
    }
    for (std::int64_t block = 0; block < grid; ++block) {
      const Coord tile = coordinate(block, cta_shape);
      Coord first_key, last_key, key;
      for (std::size_t a = 0; a < rank; ++a) {
        const Axis& axis = group.axes[a];
        const std::int64_t first_query = tile[a] * tiles.q_tile[a];
        const std::int64_t rows = std::min(tiles.q_tile[a], axis.length - first_query);
        first_key.push_back(axis.window_start(first_query));
        last_key.push_back(axis.window_end(first_query + rows - 1));
      }
      std::int64_t trips = 0;
      key = first_key;
      const auto inside = [&] {
        for (std::size_t a = 0; a < rank; ++a) {
          if (key[a] >= last_key[a]) return false;
        }
        return true;
      };
      while (inside()) {
        ++trips;
        key[rank - 1] += tiles.kv_tile[rank - 1];
        for (std::size_t a = rank - 1; a > 0 && key[a] >= last_key[a]; --a) {
          key[a] = first_key[a];
          key[a - 1] += tiles.kv_tile[a - 1];
        }
      }
      add(total, group, tiles, trips, tile[0] >= cta_shape[0],
          !divides(group, tiles.kv_tile, cutlass_axes(rank)));
    }
  });
  return total;
}

KernelTrips cutlass_backward(const NeighborhoodMask& mask, const TilePair& tiles) {
  KernelTrips total;
  const std::size_t rank = mask.rank();
  for_each_group(mask, [&](const Group& group) {
    Coord kv_tiled;
    for (std::size_t a = 0; a < rank; ++a) {
      kv_tiled.push_back(ceil_div(group.axes[a].length, tiles.kv_tile[a]));
    }
    for (std::int64_t block = 0; block < volume(kv_tiled); ++block) {
      const Coord tile = coordinate(block, kv_tiled);
      Coord smallest, last, aligned_last;
      for (std::size_t a = 0; a < rank; ++a) {
        const Axis& axis = group.axes[a];
        const std::int64_t q = tiles.q_tile[a], key = tile[a] * tiles.kv_tile[a];
        const std::int64_t last_key = std::min(key + tiles.kv_tile[a], axis.length) - 1;
        smallest.push_back(axis.backward_start(key) / q * q);
        last.push_back(axis.backward_end(last_key));
        aligned_last.push_back(ceil_div(last[a], q) * q);
      }
      std::int64_t trips = 0;
      Coord query = smallest;
      for (bool same_key = true; same_key;) {
        ++trips;
        query[rank - 1] += tiles.q_tile[rank - 1];
        for (std::size_t a = rank - 1; a > 0 && query[a] >= aligned_last[a]; --a) {
          query[a] = smallest[a];
          query[a - 1] += tiles.q_tile[a - 1];
        }
        for (std::size_t a = 0; a < rank; ++a) {
          same_key = same_key && query[a] < last[a] && query[a] < group.axes[a].length;
        }
      }
      add(total, group, tiles, trips, false, !divides(group, tiles.q_tile, cutlass_axes(rank)));
    }
  });
  return total;
}

KernelTrips flex_blocks(const AxisMask& axis, std::int64_t q_tile, std::int64_t kv_tile) {
  const std::int64_t d = axis.dilation, length = ceil_div(axis.length, d);
  const std::int64_t q_tokens = ceil_div(ceil_div(axis.length, q_tile), d) * q_tile;
  const std::int64_t kv_tokens = ceil_div(ceil_div(axis.length, kv_tile), d) * kv_tile;
  const std::int64_t left = axis.window / 2, right = axis.window / 2 + (axis.window % 2 - 1);
  const auto attends = [&](std::int64_t q, std::int64_t kv) {
    if (axis.causal) {
      const std::int64_t leader = std::min(q / axis.stride * axis.stride + axis.stride - 1, length - 1);
      return q - kv >= 0 && leader - kv < axis.window;
    }
    const std::int64_t leader = std::min(q / axis.stride * axis.stride + axis.stride / 2, length - 1);
    const std::int64_t center = std::min(std::max(leader, left), length - 1 - right);
    return (0 <= center - kv && center - kv <= left) || (0 <= kv - center && kv - center <= right);
  };
  KernelTrips total;
  for (std::int64_t q0 = 0; q0 < q_tokens; q0 += q_tile) {
    total.launched += d;
    for (std::int64_t kv0 = 0; kv0 < kv_tokens; kv0 += kv_tile) {
      std::int64_t attending = 0;
      for (std::int64_t q = q0; q < q0 + q_tile; ++q) {
        for (std::int64_t kv = kv0; kv < kv0 + kv_tile; ++kv) attending += attends(q, kv);
      }
      if (attending == 0) continue;
      total.trips += d;
      (attending == q_tile * kv_tile ? total.unmasked : total.masked) += d;
    }
  }
  return total;
}

TileCount count_by_kernel(std::optional<NattenBackend> kernel, const TilingProblem& problem,
                          TileCount count) {
  if (!kernel) return count;
  const bool forward = problem.walk == Walk::kForward;
  KernelTrips trips{.launched = 1, .trips = 1};
  if (*kernel == NattenBackend::kFlexFna) {
    for (std::size_t a = 0; a < problem.mask.rank();
         ++a) {  // a block of boxes is visited if it is on every axis
      const std::int64_t q = problem.tiles.q_tile[a], kv = problem.tiles.kv_tile[a];
      const std::int64_t d = problem.mask[a].dilation;
      const KernelTrips axis = flex_blocks(problem.mask[a], q, kv);
      trips.launched *= forward ? axis.launched : d * ceil_div(ceil_div(problem.mask[a].length, kv), d);
      trips.trips *= axis.trips;
    }
  } else {
    trips =
        forward ? hopper_forward(problem.mask, problem.tiles) : hopper_backward(problem.mask, problem.tiles);
  }
  count.mma_pairs = count.mma_pairs / count.visited_tiles * trips.trips;
  count.visited_tiles = trips.trips;
  (forward ? count.q_tiles : count.kv_tiles) = trips.launched;
  return count;
}

KernelTrips dense_forward(NattenBackend family, std::int64_t q_tile, std::int64_t kv_tile,
                          std::int64_t queries, std::int64_t keys, bool causal) {
  KernelTrips total;
  for (std::int64_t block = 0; block * q_tile < queries; ++block) {
    ++total.launched;
    std::int64_t trips = ceil_div(keys, kv_tile), masked = 0, bounds = keys % kv_tile != 0 ? 1 : 0;
    if (causal) {
      bounds = 0;
      if (family == NattenBackend::kCutlassFna) {
        const std::int64_t query = block * q_tile, seen = std::min(query + q_tile, keys);
        trips = ceil_div(seen, kv_tile);
        for (std::int64_t key = 0; key < seen; key += kv_tile)
          masked += std::min(key + kv_tile, seen) >= query;
      } else {
        trips = std::min(trips, ceil_div((block + 1) * q_tile, kv_tile));
        masked = std::min(trips, ceil_div(q_tile, kv_tile));
      }
    }
    total.trips += trips;
    total.masked += masked;
    total.bounds += bounds;
    total.unmasked += trips - masked - bounds;
  }
  return total;
}

KernelTrips dense_backward(NattenBackend family, std::int64_t q_tile, std::int64_t kv_tile,
                           std::int64_t queries, std::int64_t keys, bool causal) {
  KernelTrips total;
  for (std::int64_t block = 0; block * kv_tile < keys; ++block) {
    ++total.launched;
    for (std::int64_t q = 0; q < ceil_div(queries, q_tile); ++q) {
      if (causal && family == NattenBackend::kHopperFna && !(block * kv_tile <= q * q_tile + q_tile))
        continue;
      if (causal && family != NattenBackend::kHopperFna && q < block * kv_tile / q_tile) continue;
      ++total.trips;
    }
  }
  return total;
}

}  // namespace natten_sim::test

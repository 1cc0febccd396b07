#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/search/windows/distinct.hpp>

#include "windows/passes.hpp"
#include "windows/representatives.hpp"

namespace natten_sim {
namespace {

constexpr std::size_t kMaxLookedAt = std::size_t{1} << 16;

using Key = std::vector<std::int64_t>;

/// One axis of a candidate in one pass.
struct AxisWalk {
  AxisMask mask;
  AxisTiles tiles;
  KvTiling kv_tiling = KvTiling::kStatic;
  Walk walk = Walk::kForward;
};

/// Tokens first .. last of the streamed operand that tokens first .. last of the walked one need.
TokenRange needed_by(const AxisGroup& group, Walk walk, std::int64_t first, std::int64_t last) {
  if (walk == Walk::kForward) return {attended_range(group, first).begin, attended_range(group, last).end};
  const std::int64_t turn = group.cyclic ? group.length : 0;  // queries of the turns before and after
  // The first query whose window ends behind `first`, and the one behind the last that begins up to `last`.
  const auto first_query = [&](const auto& reached) {
    std::int64_t low = -turn, high = group.length + turn;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (reached(unrolled_range(group, middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  return {first_query([&](const TokenRange& keys) { return keys.end > first; }),
          first_query([&](const TokenRange& keys) { return keys.begin > last; })};
}

/// Tiles that `needed` touches around a cycle of `length` tokens: the first, and their number.
std::pair<std::int64_t, std::int64_t> touched_of_cycle(const TokenRange& needed, std::int64_t length,
                                                       std::int64_t size) {
  const std::int64_t tiles = ceil_divide(length, size);
  const auto tile_of = [&](std::int64_t token) {  // a turn before, from it on
    token += length;
    return token / length * tiles + token % length / size;
  };
  const std::int64_t first = tile_of(needed.begin), count = tile_of(needed.end - 1) - first + 1;
  return count >= tiles ? std::pair{std::int64_t{0}, tiles} : std::pair{first % tiles * size, count};
}

/// Calls visit(first, count) for each walked tile of an axis: the first tile (static) or token (dynamic) of
/// those that it streams, and their number. Stops when visit returns false.
template <typename Visit>
void for_each_walked_tile(const AxisWalk& axis, const Visit& visit) {
  const std::int64_t groups = axis.mask.length % axis.mask.dilation == 0 ? 1 : 2;  // of different lengths
  for (std::int64_t index = 0; index < groups; ++index) {
    poll();
    const AxisGroup group = residue_class(axis.mask, index == 0 ? 0 : axis.mask.dilation - 1);
    for (std::int64_t first = 0; first < group.length; first += axis.tiles.walked) {
      poll();
      const std::int64_t last = std::min(first + axis.tiles.walked, group.length) - 1;
      const auto [begin, end] = needed_by(group, axis.walk, first, last);
      const std::int64_t size = axis.tiles.streamed;
      if (group.cyclic) {
        const auto [tile, count] = touched_of_cycle({begin, end}, group.length, size);
        if (!visit(tile, count)) return;
        continue;
      }
      const std::int64_t origin = axis.kv_tiling == KvTiling::kStatic ? begin / size * size : begin;
      if (!visit(origin, ceil_divide(end - origin, size))) return;
    }
  }
}

std::uint64_t hash_of_visits(const AxisWalk& walk) {
  std::uint64_t hash = 14695981039346656037u;
  for_each_walked_tile(walk, [&](std::int64_t first, std::int64_t count) {
    for (const std::int64_t value : {first, count}) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211u;
      hash ^= hash >> 32;
    }
    return true;
  });
  return hash;
}

bool same_visits(const AxisWalk& a, const AxisWalk& b) {
  Key visits;
  for_each_walked_tile(a, [&](std::int64_t first, std::int64_t count) {
    visits.insert(visits.end(), {first, count});
    return true;
  });
  std::size_t at = 0;
  bool same = true;
  for_each_walked_tile(b, [&](std::int64_t first, std::int64_t count) {
    same = at + 1 < visits.size() && visits[at] == first && visits[at + 1] == count;
    at += 2;
    return same;
  });
  return same && at == visits.size();
}

/// Numbers the tiles that axes visit: equal tiles, equal numbers. What is kept does not grow with the axis.
class VisitNumbers {
 public:
  [[nodiscard]] std::int64_t of(std::size_t axis, const AxisWalk& walk) {
    const auto [known, is_new] = numbers_.try_emplace(
        {axis, walk.mask.window, walk.mask.stride, walk.tiles.walked, walk.tiles.streamed, walk.walk}, 0);
    if (is_new) known->second = number_of_new(axis, walk);
    return known->second;
  }

 private:
  struct Seen {
    std::size_t axis = 0;
    AxisWalk walk;
    std::int64_t number = 0;
  };

  std::int64_t number_of_new(std::size_t axis, const AxisWalk& walk) {
    std::vector<Seen>& alike = by_hash_[hash_of_visits(walk)];
    for (const Seen& seen : alike) {
      poll();
      const bool same_tiles =
          seen.walk.tiles.walked == walk.tiles.walked && seen.walk.tiles.streamed == walk.tiles.streamed;
      if (seen.axis == axis && seen.walk.walk == walk.walk && same_tiles && same_visits(seen.walk, walk))
        return seen.number;
    }
    alike.push_back({axis, walk, ++last_});
    return last_;
  }

  using Parameters = std::tuple<std::size_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, Walk>;
  std::map<Parameters, std::int64_t> numbers_;
  std::unordered_map<std::uint64_t, std::vector<Seen>> by_hash_;
  std::int64_t last_ = 0;
};

/// Keeps of candidates in order those that differ from all before them.
class DistinctFilter {
 public:
  DistinctFilter(const SearchSpace& space, Distinct distinct)
      : space_(space), passes_(space), distinct_(distinct) {}

  /// Two steps, as Distinct says: windows or strides first, then tiles.
  void apply(std::vector<Candidate>& candidates) {
    std::set<Key> masks, tiles;
    std::erase_if(candidates, [&](const Candidate& candidate) {
      if (distinct_ != Distinct::kTiles && !masks.insert(mask_key(candidate)).second) return true;
      return !tiles.insert(tile_key(candidate)).second;
    });
  }

 private:
  [[nodiscard]] Key mask_key(const Candidate& candidate) const {
    Key key;
    for (const AxisMask& axis : candidate.mask) {
      key.push_back(axis.window);
      if (distinct_ == Distinct::kStride) key.push_back(axis.stride);
    }
    return key;
  }

  /// The tiles that are visited in every pass, and their shapes.
  [[nodiscard]] Key tile_key(const Candidate& candidate) {
    Key key;
    for (const Pass& pass : passes_) {
      const TilePair& tiles = tiles_of(space_.tiles[candidate.tile_choice], pass.walk);
      for (std::size_t axis = 0; axis < candidate.mask.rank(); ++axis) {
        key.push_back(visits_.of(
            axis, {candidate.mask[axis], axis_tiles(tiles, axis, pass.walk), pass.kv_tiling, pass.walk}));
      }
      for (const Extents* shape : {&tiles.q_tile, &tiles.kv_tile})
        key.insert(key.end(), shape->begin(), shape->end());
    }
    return key;
  }

  const SearchSpace& space_;
  Passes passes_;
  Distinct distinct_;
  VisitNumbers visits_;
};

}  // namespace

DistinctResult search_distinct(const SearchSpace& space, const SearchConstraints& constraints,
                               Objective objective, std::size_t top, Distinct distinct,
                               const SearchRun& run) {
  if (distinct == Distinct::kNone) return {search_best(space, constraints, objective, top, run)};
  DistinctResult result;
  DistinctFilter filter(space, distinct);
  const LeaveOut leave_out =
      distinct == Distinct::kWindow ? LeaveOut::kWorseStrides : LeaveOut::kDenseStrides;
  for (std::size_t looked_at = std::max<std::size_t>(4 * top, 64);; looked_at *= 8) {
    poll();
    looked_at = std::max(std::min(looked_at, kMaxLookedAt), top);
    result.search = search_representatives(space, constraints, objective, looked_at, leave_out, run);
    std::vector<Candidate>& found = result.search.candidates;
    const bool all = found.size() < looked_at;
    filter.apply(found);
    if (found.size() > top) found.resize(top);
    result.complete = all || found.size() == top;
    if (result.complete || looked_at >= kMaxLookedAt) return result;
  }
}

}  // namespace natten_sim

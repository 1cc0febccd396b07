#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/search/windows/distinct.hpp>

namespace natten_sim {
namespace {

constexpr std::size_t kMaxLookedAt = std::size_t{1} << 16;

using Signature = std::vector<std::int64_t>;

/// First tile (static) or token (dynamic) and number of the KV tiles that each Q tile of an axis visits.
Signature visited_tiles(const AxisMask& axis, std::int64_t q_tile, std::int64_t kv_tile, KvTiling kv_tiling) {
  Signature signature;
  const std::int64_t groups = axis.length % axis.dilation == 0 ? 1 : 2;  // of different lengths
  for (std::int64_t index = 0; index < groups; ++index) {
    const AxisGroup group = residue_class(axis, index == 0 ? 0 : axis.dilation - 1);
    for (std::int64_t first = 0; first < group.length; first += q_tile) {
      const std::int64_t last = std::min(first + q_tile, group.length) - 1;
      const std::int64_t begin = attended_range(group, first).begin, end = attended_range(group, last).end;
      const std::int64_t origin = kv_tiling == KvTiling::kStatic ? begin / kv_tile * kv_tile : begin;
      signature.push_back(origin);
      signature.push_back(ceil_divide(end - origin, kv_tile));
    }
  }
  return signature;
}

/// Numbers that are equal for combinations that are alike.
class Keys {
 public:
  Keys(const SearchSpace& space, Distinct distinct) : space_(space), distinct_(distinct) {}

  [[nodiscard]] Signature of(const Candidate& candidate) {
    Signature key;
    for (std::size_t axis = 0; axis < candidate.mask.rank(); ++axis) {
      const AxisMask& mask = candidate.mask[axis];
      if (distinct_ == Distinct::kTiles) {
        key.push_back(tiles_of(axis, mask, candidate.tile_choice));
        continue;
      }
      key.push_back(mask.window);
      if (distinct_ != Distinct::kWindow) key.push_back(mask.stride);
    }
    if (distinct_ == Distinct::kTiles) {
      const TilePair& tiles = space_.tiles[candidate.tile_choice].tiles;
      for (const Extents* shape : {&tiles.q_tile, &tiles.kv_tile}) {
        key.insert(key.end(), shape->begin(), shape->end());
      }
    }
    return key;
  }

 private:
  /// A number of the visited tiles along one axis: equal tiles, equal numbers.
  std::int64_t tiles_of(std::size_t axis, const AxisMask& mask, std::size_t choice) {
    const std::int64_t q_tile = space_.tiles[choice].tiles.q_tile[axis];
    const std::int64_t kv_tile = space_.tiles[choice].tiles.kv_tile[axis];
    const auto [known, is_new] = numbers_.try_emplace({axis, mask.window, mask.stride, q_tile, kv_tile}, 0);
    if (is_new) {
      known->second = signatures_
                          .try_emplace({axis, visited_tiles(mask, q_tile, kv_tile, space_.kv_tiling)},
                                       static_cast<std::int64_t>(signatures_.size()))
                          .first->second;
    }
    return known->second;
  }

  const SearchSpace& space_;
  Distinct distinct_;
  std::map<std::tuple<std::size_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::int64_t>
      numbers_;
  std::map<std::pair<std::size_t, Signature>, std::int64_t> signatures_;
};

}  // namespace

DistinctResult search_distinct(const SearchSpace& space, const SearchConstraints& constraints,
                               Objective objective, std::size_t top, Distinct distinct,
                               const SearchRun& run) {
  if (distinct == Distinct::kNone) return {search_best(space, constraints, objective, top, run)};
  DistinctResult result;
  Keys keys(space, distinct);
  for (std::size_t looked_at = std::max<std::size_t>(4 * top, 64);; looked_at *= 8) {
    looked_at = std::max(std::min(looked_at, kMaxLookedAt), top);
    result.search = search_best(space, constraints, objective, looked_at, run);
    std::vector<Candidate>& found = result.search.candidates;
    const bool all = found.size() < looked_at;
    std::set<Signature> seen;
    std::erase_if(found, [&](const Candidate& candidate) { return !seen.insert(keys.of(candidate)).second; });
    if (found.size() > top) found.resize(top);
    result.complete = all || found.size() == top;
    if (result.complete || looked_at >= kMaxLookedAt) return result;
  }
}

}  // namespace natten_sim

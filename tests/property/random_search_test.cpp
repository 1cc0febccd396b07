// The search against plain enumeration: every combination counted by the tile walk and sorted with exact
// fractions.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <vector>

#include <rapidcheck.h>

#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/search/windows/search.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>

#include "catch.hpp"
#include "natten_kernels.hpp"
#include "search_cases.hpp"
#include "property/holds.hpp"

namespace random_search_test {

using namespace natten_sim;
using namespace natten_sim::test;

__extension__ typedef __int128 Wide;

/// Largest over smallest L / w as (numerator, denominator).
std::pair<std::int64_t, std::int64_t> unevenness(const SearchSpace& space, const Extents& window) {
  std::pair<std::int64_t, std::int64_t> worst{0, 1};
  for (std::size_t a = 0; a < window.rank(); ++a) {
    for (std::size_t b = 0; b < window.rank(); ++b) {
      const std::pair<std::int64_t, std::int64_t> ratio{space.input[a] * window[b],
                                                        window[a] * space.input[b]};
      if (static_cast<Wide>(ratio.first) * worst.second > static_cast<Wide>(worst.first) * ratio.second)
        worst = ratio;
    }
  }
  return worst;
}

std::pair<std::int64_t, std::int64_t> objective_of(const Case& random, const Point& point,
                                                   Objective objective);

std::vector<TilePair> tiles_in_passes(const SearchSpace& space, std::size_t choice) {
  const TileChoice& tiles = space.tiles[choice];
  if (space.phase == SearchPhase::kBoth) return {tiles.tiles, tiles.backward_tiles};
  return {space.phase == SearchPhase::kForward ? tiles.tiles : tiles.backward_tiles};
}

bool meets(const Case& random, const Point& point) {
  if (random.constraints.natten_fast_path && !point.fast_path) return false;
  if (random.limits.speedup > 0) {
    const auto [faster, slower] = objective_of(random, point, random.objective);
    if (static_cast<Wide>(faster) * 1000 < static_cast<Wide>(slower) * random.limits.speedup) return false;
  }
  const SearchSpace& space = random.space;
  for (const TilePair& tiles : tiles_in_passes(space, point.choice)) {
    for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
      if (random.constraints.window_multiple_of_kv_tile && point.window[axis] % tiles.kv_tile[axis] != 0)
        return false;
      for (std::int64_t residue = 0; random.constraints.no_padding && residue < space.dilation[axis];
           ++residue) {
        std::int64_t length = 0;
        for (std::int64_t i = residue; i < space.input[axis]; i += space.dilation[axis]) ++length;
        if (length % tiles.q_tile[axis] != 0 || length % tiles.kv_tile[axis] != 0) return false;
      }
    }
  }
  if (random.constraints.fully_block_sparse && point.count.partial_tiles() != 0) return false;
  if (random.constraints.fully_block_sparse && point.backward && point.backward->partial_tiles() != 0)
    return false;
  const auto [larger, smaller] = unevenness(space, point.window);
  if (random.limits.imbalance > 0 &&
      static_cast<Wide>(larger) * 1000 > static_cast<Wide>(smaller) * random.limits.imbalance)
    return false;
  const Int128 masked = point.count.dense_pairs - point.count.attended_pairs;
  return !random.limits.sparsity || (masked * 1000 >= random.limits.sparsity_lo * point.count.dense_pairs &&
                                     masked * 1000 <= random.limits.sparsity_hi * point.count.dense_pairs);
}

std::vector<Point> enumerate(const Case& random) {
  const SearchSpace& space = random.space;
  std::vector<std::pair<Extents, Extents>> pairs = {{{}, {}}};
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
    std::vector<std::pair<Extents, Extents>> longer;
    for (const auto& [window, stride] : pairs) {
      for (std::int64_t w = space.window[axis].lo; w <= space.window[axis].hi; ++w) {
        for (std::int64_t s = space.stride[axis].lo; s <= std::min(w, space.stride[axis].hi); ++s) {
          longer.emplace_back(window, stride);
          longer.back().first.push_back(w);
          longer.back().second.push_back(s);
        }
      }
    }
    pairs = std::move(longer);
  }
  std::vector<Point> points;
  for (const auto& [window, stride] : pairs) {
    for (std::size_t choice = 0; choice < space.tiles.size(); ++choice) {
      const NeighborhoodMask mask = make_mask(space.input, window, stride, space.dilation, space.causal, space.cyclic);
      const TilingProblem forward{
          .mask = mask, .tiles = space.tiles[choice].tiles, .kv_tiling = space.kv_tiling};
      const TilingProblem backward{.mask = mask,
                                   .tiles = space.tiles[choice].backward_tiles,
                                   .kv_tiling = space.backward_kv_tiling,
                                   .walk = Walk::kBackward};
      const bool one = space.phase != SearchPhase::kBoth;
      const TilingProblem& first = space.phase == SearchPhase::kBackward ? backward : forward;
      points.push_back({window, stride, choice, walk_tiles(first), natten_fast_path(first)});
      points.back().ranked = test::count_by_kernel(space.kernel, first, points.back().count);
      if (one) continue;
      points.back().backward = walk_tiles(backward);
      points.back().backward_ranked = test::count_by_kernel(space.kernel, backward, *points.back().backward);
      points.back().fast_path = natten_fast_path(forward) && natten_fast_path(backward);
    }
  }
  return points;
}

/// speedup = numerator / denominator.
std::pair<std::int64_t, std::int64_t> fraction_of(const TileCount& count, Objective objective) {
  const auto pairs = static_cast<std::int64_t>(count.dense_pairs);
  const auto tiles = static_cast<std::int64_t>(count.dense_tiles);
  switch (objective) {
    case Objective::kWork:
      return {pairs, count.mma_pairs};
    case Objective::kWorst:
    case Objective::kEndToEnd:
      return {tiles, count.walked_tiles() * count.max_tiles_per_walked_tile};
    case Objective::kTime:
    case Objective::kMean:
      return {tiles, count.visited_tiles};
    case Objective::kFlop:
      return {pairs, count.attended_pairs};
  }
  return {};
}

std::pair<std::int64_t, std::int64_t> objective_of(const Case& random, const Point& point,
                                                   Objective objective) {
  const auto [dense, work] = fraction_of(point.ranked, objective);
  if (!point.backward) return {dense, work};
  // (a + b) / (a / forward + b / backward)
  const auto [backward_dense, backward_work] = fraction_of(*point.backward_ranked, objective);
  const auto [a, b] = random.space.weights;
  return {(a + b) * dense * backward_dense, a * work * backward_dense + b * backward_work * dense};
}

int compare_ratio(const std::pair<std::int64_t, std::int64_t>& a,
                  const std::pair<std::int64_t, std::int64_t>& b) {
  const Wide left = static_cast<Wide>(a.first) * b.second, right = static_cast<Wide>(b.first) * a.second;
  return left < right ? -1 : left > right ? 1 : 0;
}

bool better(const Case& random, Objective objective, const Point& a, const Point& b) {
  if (const int order = compare_ratio(objective_of(random, a, objective), objective_of(random, b, objective));
      order != 0)
    return order > 0;
  if (random.tie_break == TieBreak::kFastPath && a.fast_path != b.fast_path) return a.fast_path;
  const std::int64_t product_a = product(a.stride, "stride"), product_b = product(b.stride, "stride");
  if (product_a != product_b) return product_a < product_b;
  if (const int order = compare_ratio(unevenness(random.space, a.window), unevenness(random.space, b.window));
      order != 0)
    return order < 0;
  const auto key = [&](const Point& point) {
    std::vector<Extents> shapes = {point.window, point.stride};
    for (const TilePair& tiles : tiles_in_passes(random.space, point.choice))
      shapes.insert(shapes.end(), {tiles.q_tile, tiles.kv_tile});
    std::vector<std::int64_t> values;
    for (const Extents& shape : shapes) values.insert(values.end(), shape.begin(), shape.end());
    values.push_back(static_cast<std::int64_t>(point.choice));
    return values;
  };
  return key(a) < key(b);
}

std::string describe_case(const Case& random) {
  std::string text =
      "input " + to_string(random.space.input) + " dilation " + to_string(random.space.dilation) + " tiles";
  for (const TileChoice& choice : random.space.tiles)
    text += " " + to_string(choice.tiles.q_tile) + "/" + to_string(choice.tiles.kv_tile);
  for (std::size_t axis = 0; axis < random.space.input.rank(); ++axis) {
    text += " w " + std::to_string(random.space.window[axis].lo) + ":" +
            std::to_string(random.space.window[axis].hi) + " s " +
            std::to_string(random.space.stride[axis].lo) + ":" +
            std::to_string(random.space.stride[axis].hi) + (random.space.causal[axis] ? " causal" : "") +
            (random.space.cyclic[axis] ? " cyclic" : "");
  }
  text += " sparsity " + std::to_string(random.limits.sparsity_lo) + ":" +
          std::to_string(random.limits.sparsity_hi) + " imbalance " +
          std::to_string(random.limits.imbalance) +
          (random.constraints.window_multiple_of_kv_tile ? " multiple" : "") +
          (random.constraints.fully_block_sparse ? " block-sparse" : "") +
          (random.constraints.no_padding ? " no-padding" : "") + " objective " +
          std::to_string(static_cast<int>(random.objective)) + " phase " + to_string(random.space.phase);
  return text;
}

void assert_equal(const Case& random, const std::vector<Candidate>& found, const std::vector<Point>& wanted) {
  bool same = found.size() == wanted.size();
  for (std::size_t i = 0; same && i < found.size(); ++i) {
    same = window_of(found[i].mask) == wanted[i].window && stride_of(found[i].mask) == wanted[i].stride &&
           found[i].tile_choice == wanted[i].choice && found[i].count == wanted[i].count &&
           found[i].backward_count == wanted[i].backward;
  }
  if (same) return;
  std::string text = describe_case(random);
  for (const Candidate& candidate : found)
    text += "\n found " + to_string(window_of(candidate.mask)) + " " + to_string(stride_of(candidate.mask)) +
            " " + std::to_string(candidate.tile_choice);
  for (const Point& point : wanted)
    text += "\n wanted " + to_string(point.window) + " " + to_string(point.stride) + " " +
            std::to_string(point.choice);
  RC_FAIL(text);
}

std::vector<Point> feasible_in_order(const Case& random, Objective objective) {
  std::vector<Point> points = enumerate(random);
  std::erase_if(points, [&](const Point& point) { return !meets(random, point); });
  std::sort(points.begin(), points.end(),
            [&](const Point& a, const Point& b) { return better(random, objective, a, b); });
  return points;
}

TEST_CASE("the search equals plain enumeration on random spaces, for any number of threads") {
  REQUIRE(holds("search == enumeration", 500, [&] {
    const Case random = random_case();
    std::vector<Point> wanted = feasible_in_order(random, random.objective);
    const std::size_t feasible = wanted.size();
    const auto top = static_cast<std::size_t>(pick(1, 12));
    if (wanted.size() > top) wanted.resize(top);
    const SearchResult result = search_best(
        random.space, random.constraints, random.objective, top,
        {.threads = static_cast<unsigned>(pick(1, 3)), .progress = {}, .tie_break = random.tie_break});
    assert_equal(random, result.candidates, wanted);
    RC_ASSERT(result.space_size == static_cast<std::int64_t>(enumerate(random).size()));
    if (feasible == 0 && random.limits.sparsity &&
        random.limits.speedup == 0) {  // the nearest sparsity is that of some point without the range
      Case unbounded = random;
      unbounded.limits.sparsity = false;
      std::optional<double> nearest;
      double least = 2;
      for (const Point& point : feasible_in_order(unbounded, random.objective)) {
        const double sparsity = point.count.sparsity(), lo = random.constraints.sparsity->lo,
                     hi = random.constraints.sparsity->hi;
        const double distance = sparsity < lo ? lo - sparsity : sparsity - hi;
        if (distance < least)
          std::tie(least, nearest) = std::tuple{distance, std::optional<double>(sparsity)};
      }
      RC_ASSERT(nearest.has_value() == result.nearest_sparsity.has_value());
      if (nearest) {
        const double found = *result.nearest_sparsity, lo = random.constraints.sparsity->lo,
                     hi = random.constraints.sparsity->hi;
        RC_ASSERT(std::abs((found < lo ? lo - found : found - hi) - least) < 1e-9);
      }
    }
  }));
}

TEST_CASE("the Pareto front equals the undominated points of plain enumeration") {
  REQUIRE(holds("pareto == enumeration", 500, [&] {
    Case random = random_case();
    random.tie_break = TieBreak::kStrideProduct;
    const std::vector<Point> points = feasible_in_order(random, random.objective);
    std::vector<Point> front;
    for (const Point& point : points) {
      const std::int64_t strides = product(point.stride, "stride");
      const bool dominated = std::any_of(points.begin(), points.end(), [&](const Point& other) {
        const std::int64_t other_strides = product(other.stride, "stride");
        const int speed = compare_ratio(objective_of(random, other, random.objective),
                                        objective_of(random, point, random.objective));
        const bool as_good = other.count.attended_pairs >= point.count.attended_pairs &&
                             other_strides <= strides && speed >= 0;
        const bool equal = other.count.attended_pairs == point.count.attended_pairs &&
                           other_strides == strides && speed == 0;
        return as_good && (!equal || better(random, random.objective, other, point));
      });
      if (!dominated) front.push_back(point);
    }
    assert_equal(random, search_pareto(random.space, random.constraints, random.objective).candidates, front);
  }));
}

TEST_CASE("the stride ladder equals the undominated strides of plain enumeration") {
  REQUIRE(holds("ladder == enumeration", 2000, [&] {
    Case random = random_case();
    random.objective = Objective::kWorst;
    random.space.tiles.resize(1);
    for (std::size_t axis = 0; axis < random.space.input.rank(); ++axis) {
      const std::int64_t window = pick(random.space.window[axis].lo, random.space.window[axis].hi);
      random.space.window[axis] = {window, window};
      random.space.stride[axis] = {1, random.space.input[axis]};
    }
    std::vector<Point> points = enumerate(random);
    std::erase_if(points, [&](const Point& point) { return !meets(random, point); });
    std::sort(points.begin(), points.end(), [&](const Point& a, const Point& b) {
      const std::int64_t product_a = product(a.stride, "stride"), product_b = product(b.stride, "stride");
      if (product_a != product_b) return product_a < product_b;
      const int order = compare_ratio(objective_of(random, a, Objective::kWorst),
                                      objective_of(random, b, Objective::kWorst));
      return order != 0 ? order > 0 : a.stride < b.stride;
    });
    std::vector<Point> ladder;
    for (const Point& point : points) {
      if (ladder.empty() || compare_ratio(objective_of(random, point, Objective::kWorst),
                                          objective_of(random, ladder.back(), Objective::kWorst)) > 0)
        ladder.push_back(point);
    }
    assert_equal(random, stride_ladder(random.space, random.constraints).candidates, ladder);
  }));
}

}  // namespace random_search_test

#include "windows/time_limit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>

#include "windows/space.hpp"

namespace natten_sim {
namespace {

constexpr double kBoundRounding = 1e-8;  // covers that of bounds and simulations

KernelVisits visits_of(const SearchSpace& space, const Extents& window, const TilePair& tiles, const TimedPass& pass) {
  NattenProblem problem;
  problem.mask = mask_in(space, window, {});
  problem.backend = pass.family;
  problem.tiles = tiles;
  problem.pass = pass.walk;
  problem.kernel_alone = true;
  return natten_visits(problem).attention;
}

/// The tiles that a pass launches depend on the layout alone.
double launched_tiles(const SearchSpace& space, const TilePair& tiles, const TimedPass& pass) {
  return static_cast<double>(visits_of(space, Extents(space.input.rank(), 1), tiles, pass).launched_tiles);
}

/// What a pair of tiles takes at least: where even windows over whole axes are checked for padding, all are.
double least_tile_us(const SearchSpace& space, const TilePair& tiles, const TimedPass& pass) {
  const PassCosts& costs = pass.costs;
  if (pass.family == NattenBackend::kFlexFna) return costs.unmasked_tile_us;
  Extents whole;
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) whole.push_back(space.input[axis] / space.dilation[axis]);
  // By a fit, a check for bounds may take less than none.
  const double least_masked_us = std::min(costs.bounds_masked_tile_us, costs.masked_tile_us[space.input.rank() - 1]);
  if (visits_of(space, whole, tiles, pass).unmasked_tiles > 0) return std::min(costs.unmasked_tile_us, least_masked_us);
  return least_masked_us;
}

/// FlexAttention's backward pass has CTAs of keys, with 4 of its 7 products, and others of queries.
bool has_two_lists(const TimedPass& pass) {
  return pass.walk == Walk::kBackward && pass.family == NattenBackend::kFlexFna;
}

std::size_t index_of(const SearchSpace& space, const TimedPass& pass) {
  return Passes(space)[0].walk == pass.walk ? 0U : 1U;
}

/// No launch of a pass takes less than slowed_ms(fixed_ms + tile_ms * visited), less `clipped_share` of the second term
/// where tiles lack all of their tokens.
struct PassBound {
  PassCosts costs;         ///< with the slow-down of masked pairs, which no pairs have less of
  std::size_t index = 0;  ///< in the order of Passes
  double fixed_ms = 0, tile_ms = 0;
  double dense_ms = 0;  ///< of all pairs of tiles
  double clipped_share = 0;  ///< where windows change what tiles lack

  /// The slope of slowed_ms, which is convex.
  [[nodiscard]] double slope(double ms) const {
    const double both = ms + costs.slowdown_ms;
    return both > 0 ? 1 + costs.slowdown * ms * (ms + 2 * costs.slowdown_ms) / (both * both) : 1;
  }
};

PassBound empty_bound(const SearchSpace& space, const TimedPass& pass) {
  PassBound bound{.costs = pass.costs, .index = index_of(space, pass)};
  bound.costs.slowdown *= 1 - pass.costs.spared_slowdown;
  return bound;
}

/// A bound of a launch of one pass of a choice.
using BoundOf = PassBound(const SearchSpace&, const TileChoice&, const TimedPass&);

/// Tiles that one CTA streams where nothing is left out.
double streamed_tiles(const SearchSpace& space, const TilePair& tiles, Walk walk) {
  const Extents& streamed = walk == Walk::kForward ? tiles.kv_tile : tiles.q_tile;
  double pairs = 1;
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis)
    pairs *= static_cast<double>(ceil_divide(space.input[axis], streamed[axis]));
  return pairs;
}

/// By all that it visits: no launch ends before the mean of its workers.
PassBound bound_of_mean(const SearchSpace& space, const TileChoice& choice, const TimedPass& pass) {
  const TilePair& tiles = tiles_of(choice, pass.walk);
  const auto repeats = static_cast<double>(pass.repeats);
  PassBound bound = empty_bound(space, pass);
  const double launched = launched_tiles(space, tiles, pass);
  const double share_ms = 1e-3 * repeats / static_cast<double>(pass.workers) * pass.least_tail;
  bound.fixed_ms = share_ms * launched * pass.costs.cta_us + 1e-3 * pass.costs.launch_us;
  bound.clipped_share = pass.walk == Walk::kForward ? pass.costs.clipped_share : 0;
  bound.tile_ms = share_ms * least_tile_us(space, tiles, pass) * (bound.clipped_share > 0 ? 1 : pass.least_pair);
  bound.dense_ms = bound.tile_ms * launched * streamed_tiles(space, tiles, pass.walk);
  return bound;
}

/// By one CTA, or as many in a row as even waves have, where CTAs are simulated; else visits take no time.
PassBound bound_of_rounds(const SearchSpace& space, const TileChoice& choice, const TimedPass& pass, bool even) {
  const TilePair& tiles = tiles_of(choice, pass.walk);
  PassBound bound = empty_bound(space, pass);
  bound.fixed_ms = 1e-3 * pass.costs.launch_us;
  const double ctas = launched_tiles(space, tiles, pass) * static_cast<double>(pass.repeats);
  if (pass.family == NattenBackend::kCutlassFna || ctas > pass.most_simulated) return bound;
  const double rounds = even ? least_rounds(ctas, pass) : share_of_cta(pass);
  bound.fixed_ms += 1e-3 * rounds * pass.costs.cta_us;
  bound.tile_ms = 1e-3 * rounds * least_tile_us(space, tiles, pass);
  bound.dense_ms = bound.tile_ms * streamed_tiles(space, tiles, pass.walk);
  return bound;
}

/// By what its longest CTA visits.
PassBound bound_of_longest(const SearchSpace& space, const TileChoice& choice, const TimedPass& pass) {
  return bound_of_rounds(space, choice, pass, false);
}

/// By what each CTA visits, and the most of them that a worker has; else by the longest, which is a CTA as well.
PassBound bound_of_shortest(const SearchSpace& space, const TileChoice& choice, const TimedPass& pass) {
  bool windows = pass.walk == Walk::kForward;
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis)
    windows = windows && !space.causal[axis] && space.dilation[axis] == 1;
  return bound_of_rounds(space, choice, pass, windows);
}

/// Loads of the passes, in proportion to their dense ones, that take `ms` together: where tangents are taken.
std::vector<double> loads_taking(double ms, const std::vector<PassBound>& passes) {
  double low = 0, high = 1;
  const auto loads = [&](double share) {
    std::vector<double> all;
    for (const PassBound& pass : passes) all.push_back(pass.fixed_ms + share * pass.dense_ms);
    return all;
  };
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    const std::vector<double> all = loads(middle);
    double taken = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) taken += slowed_ms(all[i], passes[i].costs);
    (taken <= ms ? low : high) = middle;
  }
  return loads(low);
}

CostLimit limit_within(double ms, const std::vector<PassBound>& passes) {
  CostLimit limit{{0, 0}, ms};
  const std::vector<double> loads = loads_taking(ms, passes);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const PassBound& pass = passes[i];
    const double slope = pass.slope(loads[i]);
    // slowed(x) >= slowed(load) + slope * (x - load), with x = fixed + tile * visited.
    limit.scale[pass.index] = slope * pass.tile_ms;
    limit.clipped_share[pass.index] = pass.clipped_share;
    limit.most -= slowed_ms(loads[i], pass.costs) + slope * (pass.fixed_ms - loads[i]);
  }
  limit.most += ms * kBoundRounding;
  return limit;
}

std::vector<CostLimit> limits_within(const SearchSpace& space, const TimeObjective& objective,
                                     const std::optional<double>& ms, BoundOf* bound_of) {
  std::vector<CostLimit> limits;
  if (!ms && !has_limit(objective)) return limits;
  constexpr double kAny = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < objective.choices.size(); ++i) {
    const TimedChoice& choice = objective.choices[i];
    double most_ms = std::min(ms.value_or(kAny), choice.most_ms > 0 ? choice.most_ms : kAny);
    if (choice.passes.empty() || most_ms == kAny) {
      limits.push_back({{1, 1}, kAny});
      continue;
    }
    std::vector<PassBound> passes;
    for (const TimedPass& pass : choice.passes) {
      passes.push_back(bound_of(space, space.tiles[i], pass));
      most_ms -= pass.added_ms;
    }
    limits.push_back(limit_within(most_ms, passes));
  }
  return limits;
}

}  // namespace

double share_of_cta(const TimedPass& pass) {
  const double share = has_two_lists(pass) ? 0.5 : 1.0;
  return pass.costs.lone_share > 0 ? share * shared_pace(1, pass.costs.ctas_per_sm, pass.costs.lone_share) : share;
}

double least_rounds(double ctas, const TimedPass& pass) {
  const PassCosts& costs = pass.costs;
  if (has_two_lists(pass)) return share_of_cta(pass);
  if (!(costs.lone_share > 0)) return even_waves(ctas, pass.workers);
  // One SM has its share of them, rounded up. Its places, one CTA after the other, advance together: where the n-th
  // CTAs of j places are at work, they take the pace of j.
  const std::int64_t places = costs.ctas_per_sm;
  const auto of_sm = static_cast<std::size_t>(std::ceil(ctas * static_cast<double>(places) / static_cast<double>(pass.workers)));
  std::vector<double> paces, least(of_sm + 1, std::numeric_limits<double>::infinity());
  for (std::int64_t at_once = 1; at_once <= places; ++at_once) paces.push_back(shared_pace(at_once, places, costs.lone_share));
  least[0] = 0;
  for (std::size_t some = 1; some <= of_sm; ++some) {
    poll();
    for (std::size_t at_once = 1; at_once <= std::min(paces.size(), some); ++at_once)
      least[some] = std::min(least[some], least[some - at_once] + paces[at_once - 1]);
  }
  return least[of_sm];
}

bool has_limit(const TimeObjective& objective) {
  return std::any_of(objective.choices.begin(), objective.choices.end(),
                     [](const TimedChoice& choice) { return choice.most_ms > 0; });
}

std::vector<CostLimit> visits_within(const SearchSpace& space, const TimeObjective& objective,
                                     const std::optional<double>& ms) {
  return limits_within(space, objective, ms, bound_of_mean);
}

std::vector<CostLimit> longest_within(const SearchSpace& space, const TimeObjective& objective,
                                      const std::optional<double>& ms) {
  return limits_within(space, objective, ms, bound_of_longest);
}

std::vector<CostLimit> shortest_within(const SearchSpace& space, const TimeObjective& objective,
                                       const std::optional<double>& ms) {
  return limits_within(space, objective, ms, bound_of_shortest);
}

double least_ms_visiting(const SearchSpace& space, const TileChoice& choice, const TimedPass& pass, double visited) {
  const PassBound bound = bound_of_mean(space, choice, pass);
  return (slowed_ms(bound.fixed_ms + bound.tile_ms * (1 - bound.clipped_share) * visited, bound.costs) + pass.added_ms) * (1 - kBoundRounding);
}

std::vector<PerPass<double>> masked_costs(const SearchSpace& space, const TimeObjective& objective) {
  std::vector<PerPass<double>> costs;
  for (std::size_t i = 0; i < objective.choices.size(); ++i) {
    costs.push_back({1, 1});
    for (const TimedPass& pass : objective.choices[i].passes) {
      if (pass.family == NattenBackend::kFlexFna) continue;
      const double masked_us = pass.costs.masked_tile_us[space.input.rank() - 1];
      const double least_us = least_tile_us(space, tiles_of(space.tiles[i], pass.walk), pass);
      costs.back()[index_of(space, pass)] = std::max(1.0, masked_us / least_us);
    }
  }
  return costs;
}

}  // namespace natten_sim

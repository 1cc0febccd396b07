#pragma once

#include <optional>
#include <vector>

#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/search/windows/time_search.hpp>

#include "windows/option_bounds.hpp"

namespace natten_sim {

/// Whether a tile choice of the objective may not take longer than a given time.
[[nodiscard]] bool has_limit(const TimeObjective& objective);

/// What combinations of each choice may visit without taking longer than `ms`, or than the choice may take; empty: no
/// choice has a limit. Sound: what takes no longer visits no more. A launch takes at least the mean load of its
/// workers, which is linear in what it visits; power slows long launches down by a convex function, whose tangent
/// bounds it from below.
[[nodiscard]] std::vector<CostLimit> visits_within(const SearchSpace& space, const TimeObjective& objective,
                                                   const std::optional<double>& ms);

/// The same of the longest CTAs: a launch that is simulated takes at least as long as its longest CTA.
[[nodiscard]] std::vector<CostLimit> longest_within(const SearchSpace& space, const TimeObjective& objective,
                                                    const std::optional<double>& ms);

/// The same of every CTA, in forward passes without causality or dilation, where each visits a window at least: one
/// worker has as many CTAs as even waves have.
[[nodiscard]] std::vector<CostLimit> shortest_within(const SearchSpace& space, const TimeObjective& objective,
                                                     const std::optional<double>& ms);

/// No launch of a pass of the choice that visits so many tiles takes less, by the mean load of its workers.
[[nodiscard]] double least_ms_visiting(const SearchSpace& space, const TileChoice& choice, const TimedPass& pass,
                                       double visited);

/// Of each choice and pass, how many times as long the tiles of a launch take that masks elements, at least: 1 for
/// FlexAttention, which masks tile by tile. The others evaluate the mask in all of them or in none.
[[nodiscard]] std::vector<PerPass<double>> masked_costs(const SearchSpace& space, const TimeObjective& objective);

/// Share of what a walked tile takes that one CTA takes at least: a tile may be divided between lists of CTAs, and a CTA
/// alone on its SM may be faster than with others.
[[nodiscard]] double share_of_cta(const TimedPass& pass);

/// What a launch takes at least that runs `ctas` CTAs, over what the shortest of them takes with others on its SM.
/// O(ctas over SMs).
[[nodiscard]] double least_rounds(double ctas, const TimedPass& pass);

}  // namespace natten_sim

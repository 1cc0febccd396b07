#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <natten_sim/search/windows/time_search.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::study {

/// No launch takes less.
struct LeastTime {
  double ms = 0;
  double head_ms = 0;  ///< for each head, however many a launch has: waves, launch, copies and power left out
};

/// What ranks a space by time, and what dense attention takes in the passes of each tile choice.
struct SearchTimes {
  TimeObjective objective;
  std::vector<double> dense_ms;
  std::vector<double> added_ms;  ///< of each choice: copies and all else that the mask does not change
  /// Of every tile choice: launches last the mean load of their workers. Much cheaper than exact_ms, which simulates them.
  std::function<std::vector<LeastTime>(const NeighborhoodMask&)> least;
  /// Kernels of 1, 2, .. all heads under a mask with a tile choice, without copies.
  std::function<std::vector<double>(const NeighborhoodMask&, std::size_t tile_choice)> kernel_ms;

  /// Leaves out what is not this many times as fast as dense attention; none: nothing.
  void require_speedup(const std::optional<double>& min_speedup);
};

/// Costs of every tile choice on the question's device. Missing: of the first choice that has none. `question` is
/// resolved; `context` outlives the result.
[[nodiscard]] std::variant<SearchTimes, MissingTime> search_times(const SearchQuestion& question,
                                                                  const SearchSpace& space, const Context& context);

/// Leaves out the tile choices of a device that have no times where others have; returns why, once for each reason.
[[nodiscard]] std::vector<LeftOutKernel> leave_out_untimed(const SearchQuestion& question, const Context& context,
                                                           SearchSpace& space);

/// Fills in the times of a candidate, and its speedup by them.
void add_times(const SearchQuestion& question, const SearchSpace& space, const Context& context,
               SearchCandidate& candidate);

struct TilesOfKernels {
  std::vector<TileChoice> choices;
  std::vector<LeftOutKernel> left_out;
};

/// The tile pairs of the kernels that the question names, each with its kernel, in the order of timed_kernels().
/// A kernel without times or tiles there is left out if another one has them.
/// @throws InvalidParameter when no kernel has tiles, UnknownName.
[[nodiscard]] TilesOfKernels tiles_of_kernels(const SearchQuestion& question, const Catalog& catalog);

}  // namespace natten_sim::study

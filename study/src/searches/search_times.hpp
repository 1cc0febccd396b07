#pragma once

#include <optional>
#include <string>
#include <variant>

#include <natten_sim/search/windows/time_search.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::study {

/// What ranks a space by time: costs of every tile choice on the question's device. Missing: of the first
/// choice that has none. `question` is resolved, and outlives the result, as does `context`.
[[nodiscard]] std::variant<TimeObjective, MissingTime> time_objective(const SearchQuestion& question,
                                                                      const SearchSpace& space,
                                                                      const Context& context);

/// Why a question without an objective is not ranked by time; none: it is.
[[nodiscard]] std::optional<std::string> no_time(const SearchQuestion& question, const SearchSpace& space,
                                                 const Context& context);

/// Fills in the times of a candidate, and its speedup by them.
void add_times(const SearchQuestion& question, const SearchSpace& space, const Context& context,
               SearchCandidate& candidate);

struct KernelTiles {
  std::vector<TileChoice> choices;
  std::vector<LeftOutKernel> left_out;
};

/// The tile pairs of the kernels that the question names, each with its kernel, in the order of timed_kernels().
/// A kernel without times or tiles there is left out if another one has them.
/// @throws InvalidParameter when no kernel has tiles, UnknownName.
[[nodiscard]] KernelTiles tiles_of_kernels(const SearchQuestion& question, const Catalog& catalog);

}  // namespace natten_sim::study

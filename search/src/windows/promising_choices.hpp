#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <natten_sim/search/windows/time_search.hpp>

namespace natten_sim {

/// Bounds of the time of every combination that meets the constraints, for each tile choice of a space. Choices pair the
/// same forward tiles with many backward ones: each pass is bounded once.
class ChoiceBounds {
 public:
  /// By the mean load of the workers, with the fewest tiles that pairs of such windows fill. Arguments outlive this.
  ChoiceBounds(const SearchSpace& space, const SearchConstraints& constraints, const TimeObjective& objective);

  /// The choices with which a combination may take no longer than `within_ms`, or than they may take, in order.
  [[nodiscard]] std::vector<std::size_t> within(std::optional<double> within_ms) const;
  /// Of these choices some with the least bounds; of equal ones from all over the space.
  [[nodiscard]] std::vector<std::size_t> most_promising(std::vector<std::size_t> choices, std::size_t most) const;

  /// Of two passes: looks at all options of each alone with which it takes no longer than the other leaves of
  /// `within_ms`. Afterwards bounds hold up to that alone.
  void sharpen(double within_ms, const SearchRun& run);

 private:
  struct OnePass {
    SearchSpace space;        ///< of the pass alone
    TimeObjective objective;  ///< a choice a pair of tiles
    std::vector<double> least_ms;
    std::vector<std::size_t> of_choices;
  };

  [[nodiscard]] double least_ms(std::size_t choice) const;
  void sharpen_pass(OnePass& pass, double within_ms, const SearchRun& run) const;

  const SearchConstraints& constraints_;
  const TimeObjective& objective_;
  std::vector<OnePass> passes_;
};

/// Some tile choices of a space, in its order, and their objective.
struct ChoicePart {
  std::vector<std::size_t> choices;  ///< of the whole space
  SearchSpace space;
  TimeObjective objective;
};

/// `objective` outlives the result.
[[nodiscard]] ChoicePart part_of(const SearchSpace& space, const TimeObjective& objective, std::vector<std::size_t> choices);

}  // namespace natten_sim

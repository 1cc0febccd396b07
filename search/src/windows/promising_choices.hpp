#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include <natten_sim/search/windows/time_search.hpp>

#include "candidate_order.hpp"

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

  /// The choice whose passes take least with the window and stride of a point, by their bounds.
  [[nodiscard]] std::size_t fastest_choice(const RankedPoint& point, const SearchRun& run) const;

  /// Of two passes: looks at the options of the longer one up to what `known` takes of `within_ms`, so that one is found:
  /// the one with the smallest bound, with any choice of its tiles. None: there is one pass, or it was looked at before.
  std::optional<RankedPoint> look_at_longer(double within_ms, const RankedPoint& known, const SearchRun& run);

  /// Of two passes: looks at the options of each alone with which it takes no longer than the other leaves of
  /// `within_ms`. Afterwards bounds hold up to that alone.
  void sharpen(double within_ms, const SearchRun& run);

 private:
  struct OnePass {
    SearchSpace space;        ///< of the pass alone
    TimeObjective objective;  ///< a choice a pair of tiles
    std::vector<double> least_ms;
    std::vector<bool> looked_at;  ///< their bounds are those of options
    double looked_ms = 0;         ///< up to which options were looked at
    std::optional<RankedPoint> fastest = {};  ///< of the options, with the number of the pair
    double fastest_ms = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> of_choices;
  };

  [[nodiscard]] double least_ms(std::size_t choice) const;
  [[nodiscard]] double left_of(double within_ms, std::size_t pass) const;
  /// Bounds of some pairs of tiles with the window and stride of a point.
  [[nodiscard]] static std::vector<double> ms_at(const RankedPoint& point, const OnePass& pass,
                                                 std::vector<std::size_t> pairs, const SearchRun& run);
  /// Bounds the pairs that were not looked at by their options that take up to `most_ms`, or by that.
  void look_at_options(OnePass& pass, double most_ms, const SearchRun& run) const;

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

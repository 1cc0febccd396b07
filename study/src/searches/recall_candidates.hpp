#pragma once

#include <vector>

#include <natten_sim/study/search.hpp>

namespace natten_sim::study {

/// What a head may have.
struct RecallCandidate {
  NeighborhoodMask mask;
  TileChoice tiles;
  bool dense = false;  ///< dense attention by its own kernel
  double ms = 0;       ///< of all heads
  double head_ms = 0;  ///< no launch takes less for each of its heads: waves, launch, copies and power left out
};

/// A window for every head: see search(). The question has a wish.
[[nodiscard]] SearchAnswer choose_by_recall(const SearchQuestion& question, const Context& context);

/// One for each window and stride, with its fastest tiles, and dense attention: see search(). Sorted by time.
/// `question` has its setting filled in, and here gets the other defaults.
[[nodiscard]] std::vector<RecallCandidate> recall_candidates(SearchQuestion& question, const Context& context);

/// Milliseconds of a candidate's launch of so many heads.
[[nodiscard]] double launch_ms(const SearchQuestion& question, const RecallCandidate& candidate, std::int64_t heads,
                               const Context& context);

/// A question whose space is the candidate alone.
[[nodiscard]] SearchQuestion question_of(const SearchQuestion& question, const RecallCandidate& candidate);

}  // namespace natten_sim::study

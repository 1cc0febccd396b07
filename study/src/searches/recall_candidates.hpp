#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "searches/search_times.hpp"

namespace natten_sim::study {

/// What a head may have.
struct RecallCandidate {
  NeighborhoodMask mask;
  TileChoice tiles;    ///< with which all heads are fastest
  bool dense = false;  ///< dense attention by its own kernel
};

/// One for each window and stride, and dense attention: see search(). Launches are timed when they are asked for.
class RecallCandidates {
 public:
  /// `question` has its setting filled in, and here gets the other defaults. `context` outlives this.
  RecallCandidates(SearchQuestion& question, const Context& context);

  [[nodiscard]] std::size_t size() const noexcept { return masks_.size(); }
  [[nodiscard]] const std::vector<NeighborhoodMask>& masks() const noexcept { return masks_; }
  [[nodiscard]] RecallCandidate at(std::size_t candidate);
  /// Milliseconds of a launch of so many heads, which share so many KV heads.
  [[nodiscard]] double ms(std::size_t candidate, std::int64_t heads, std::int64_t heads_kv);
  [[nodiscard]] const LeastTime& least(std::size_t candidate) const { return least_[candidate]; }

 private:
  void add_masks();
  void add_dense();
  [[nodiscard]] bool is_dense(std::size_t candidate) const { return has_dense_ && candidate + 1 == masks_.size(); }
  [[nodiscard]] SearchTimes& times_of(std::int64_t heads, std::int64_t heads_kv);
  [[nodiscard]] SearchTimes& times_of_all() { return times_of(*question_.setting.heads, *question_.setting.heads_kv); }
  [[nodiscard]] const std::vector<double>& kernel_ms(std::size_t candidate, std::size_t choice);
  /// Tile choices that may run a mask, by the least that all heads take with them.
  [[nodiscard]] std::vector<std::pair<LeastTime, std::size_t>> choices_of(const NeighborhoodMask& mask);
  /// The one with which all heads are fastest; of equal ones the first.
  [[nodiscard]] std::size_t choice_of(std::size_t candidate);

  SearchQuestion question_;
  const Context& context_;
  SearchSpace space_;
  std::map<std::pair<std::int64_t, std::int64_t>, SearchTimes> times_;  // by heads and KV heads
  std::vector<NeighborhoodMask> masks_;
  bool has_dense_ = false;  // it is the last
  std::vector<LeastTime> least_;
  std::map<std::size_t, std::size_t> fastest_;  // choices of candidates that were timed
  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> kernel_ms_;  // of candidates and choices, by heads
};

/// A window for every head: see search(). The question has a wish.
[[nodiscard]] SearchAnswer choose_by_recall(const SearchQuestion& question, const Context& context);

/// A question whose space is the candidate alone.
[[nodiscard]] SearchQuestion question_of(const SearchQuestion& question, const RecallCandidate& candidate);

}  // namespace natten_sim::study

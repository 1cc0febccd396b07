#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>
#include <natten_sim/search/windows/search.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/counted_tiles.hpp>
#include <natten_sim/study/setting.hpp>

namespace natten_sim::study {

/// Which speedup is maximised. End to end, it grows with the worst-case one, as published tables take it.
enum class SearchObjective { kWork, kWorst, kMean, kFlop, kEndToEnd };

/// The best combinations, the stride ladder of one window, or a whole Pareto front.
enum class SearchKind { kBest, kLadder, kPareto };

/// Which windows, strides and tile shapes are best? Only the layout (or a preset) has no default.
struct SearchQuestion {
  Setting setting;
  Extents window;                     ///< fixed; empty: window_range
  PerAxis<IntRange> window_range;     ///< one range an axis, or one for all; empty: 1..length/dilation
  Extents stride;                     ///< fixed; empty: stride_range
  Extents stride_max;                 ///< one an axis, or one for all; empty: stride_range
  PerAxis<IntRange> stride_range;     ///< empty: 1..window
  Extents dilation;                   ///< empty: 1
  PerAxis<bool> causal;               ///< empty: no axis is
  std::optional<KvTiling> kv_tiling;  ///< none: the chosen backend's, or static
  Extents q_tile, kv_tile;            ///< empty: all of the backend's
  std::vector<TileChoice> tiles;      ///< empty: those that q_tile and kv_tile leave
  SearchConstraints constraints;
  std::vector<std::int64_t> dense_axes;      ///< whose window is the whole axis
  std::optional<SearchObjective> objective;  ///< none: work; worst for one tile pair
  SearchKind kind = SearchKind::kBest;
  std::optional<std::int64_t> top;  ///< candidates of kBest; none: 10
};

struct SearchCandidate {
  CountedTiles counted;
  TileChoice tiles;
};

struct SearchAnswer {
  SearchQuestion question;  ///< with every default filled in: ranges and tiles say what was searched
  std::int64_t space_size = 0;
  std::int64_t evaluated = 0;
  std::vector<SearchCandidate> candidates;
  std::optional<double> nearest_sparsity;  ///< as in SearchResult
  std::optional<Preset> preset;
  bool tiles_defaulted = false;
  bool unbounded = false;  ///< neither window nor sparsity is bounded: the smallest windows win
};

/// Exact, whatever `context.threads`; cost and ties as search_best(), search_pareto(), stride_ladder().
/// @throws InvalidParameter, UnknownName, OverflowError
[[nodiscard]] SearchAnswer search(const SearchQuestion& question, const Context& context);

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::SearchObjective> {
  using Objective = study::SearchObjective;
  static constexpr const char* kConcept = "objective";
  static constexpr Name<Objective> kTable[] = {{Objective::kWork, "work"},
                                               {Objective::kWorst, "worst"},
                                               {Objective::kMean, "mean"},
                                               {Objective::kFlop, "flop"},
                                               {Objective::kEndToEnd, "e2e"}};
};

template <>
struct NamesOf<study::SearchKind> {
  static constexpr const char* kConcept = "answer";
  static constexpr Name<study::SearchKind> kTable[] = {{study::SearchKind::kBest, "best"},
                                                       {study::SearchKind::kLadder, "ladder"},
                                                       {study::SearchKind::kPareto, "pareto"}};
};

}  // namespace natten_sim

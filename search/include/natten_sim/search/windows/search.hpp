#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>
#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/core/tile_count.hpp>

namespace natten_sim {

/// lo, lo+1, .., hi.
struct IntRange {
  std::int64_t lo = 1;
  std::int64_t hi = 1;

  friend constexpr bool operator==(const IntRange&, const IntRange&) = default;
};

/// Which passes are searched.
enum class SearchPhase { kForward, kBackward, kBoth };

template <>
struct NamesOf<SearchPhase> {
  static constexpr const char* kConcept = "phase";
  static constexpr Name<SearchPhase> kTable[] = {
      {SearchPhase::kForward, "forward"}, {SearchPhase::kBackward, "backward"}, {SearchPhase::kBoth, "both"}};
};

[[nodiscard]] constexpr bool has_pass(SearchPhase phase, Walk pass) noexcept {
  return phase == SearchPhase::kBoth || (phase == SearchPhase::kForward) == (pass == Walk::kForward);
}

/// A tile pair a pass to try, and the backend that implements them (empty: none named).
struct TileChoice {
  std::string backend;
  TilePair tiles;                ///< of the forward pass; empty without one
  TilePair backward_tiles = {};  ///< of the backward pass; empty without one
  std::string kernel = {};       ///< whose times are taken; empty: the backend's own
};

/// Work of the passes for a token pair: 2 and 5 products of matrices for equal head dims.
struct PassWeights {
  std::int64_t forward = 2;
  std::int64_t backward = 5;
};

/// Every combination of a window and a stride an axis and a tile choice. A stride above its window is left
/// out; everything else in the ranges belongs to the space. Multi-dimensional tiling.
struct SearchSpace {
  Extents input;
  PerAxis<IntRange> window;
  PerAxis<IntRange> stride;
  Extents dilation;
  PerAxis<bool> causal;
  KvTiling kv_tiling = KvTiling::kStatic;  ///< of the forward pass
  std::vector<TileChoice> tiles;
  SearchPhase phase = SearchPhase::kForward;
  KvTiling backward_kv_tiling = KvTiling::kStatic;  ///< of the backward pass
  PassWeights weights;                              ///< of SearchPhase::kBoth
  /// Whose visits are ranked: with dilation, kernels that permute tokens walk tiles that are empty. None, or
  /// cutlass-fna: the visits that the mask needs.
  std::optional<NattenBackend> kernel = {};
  PerAxis<bool> cyclic = {};  ///< empty: no axis is
};

/// All windows 1..L/dilation, all strides, not causal, static tiling; no tiles yet.
/// @throws InvalidParameter on an invalid input or dilation.
[[nodiscard]] SearchSpace full_space(const Extents& input, const Extents& dilation = {});

/// Number of combinations in the space. @throws OverflowError.
[[nodiscard]] std::int64_t space_size(const SearchSpace& space);

/// Fractions are read as the decimal number that prints them, so that 0.3 means 3/10 exactly; bounds are
/// inclusive.
struct SparsityRange {
  double lo = 0.0;
  double hi = 1.0;
};

struct SearchConstraints {
  std::optional<SparsityRange> sparsity;
  bool window_multiple_of_kv_tile = false;  ///< on every axis, in every pass
  std::optional<double> max_imbalance;      ///< largest over smallest L / window among the axes, >= 1
  bool fully_block_sparse = false;          ///< no partially masked tile is visited, in any pass
  bool no_padding = false;                  ///< tiles divide every axis (of every dilation group)
  bool natten_fast_path = false;  ///< NATTEN's kernels skip masking, in all passes (models' natten_fast_path)
  std::optional<double> min_speedup;  ///< of the objective, positive; read as a decimal, inclusive
  std::optional<std::int64_t> least_attended, most_attended;  ///< pairs, inclusive, whatever the sparsity
};

/// Which speedup over dense attention is maximised: the ratios of TileCount of the same name, or the whole
/// model's, end to end. For SearchPhase::kBoth the harmonic mean of the passes' speedups, weighted by
/// SearchSpace::weights: time over time, if time grows with the work.
/// Time: the least predicted time where kernels are calibrated (time_search.hpp); studies alone know it.
enum class Objective { kTime, kWork, kWorst, kMean, kFlop, kEndToEnd };

struct ObjectiveRow {
  Objective objective;
  const char* name;
  Objective ranks_by;        ///< a ratio of TileCount with which it grows, so that both rank alike
  bool needs_share;          ///< attention's share of the end-to-end time
  bool compares_tile_sizes;  ///< else tiles of different size are listed apart
};

/// All objectives: a new one is a row. Published tables take end to end from the worst-case speedup.
inline constexpr ObjectiveRow kObjectives[] = {
    {Objective::kTime, "time", Objective::kMean, false, true},
    {Objective::kWork, "work", Objective::kWork, false, false},
    {Objective::kWorst, "worst", Objective::kWorst, false, false},
    {Objective::kMean, "mean", Objective::kMean, false, false},
    {Objective::kFlop, "flop", Objective::kFlop, false, false},
    {Objective::kEndToEnd, "e2e", Objective::kWorst, true, false}};

[[nodiscard]] const ObjectiveRow& row_of(Objective objective);

/// The ratio of `count` that `objective` ranks by.
[[nodiscard]] double speedup_of(const TileCount& count, Objective objective);

/// The count of `problem` as `space` ranks it: its own `count`, or with the tiles that the space's kernel
/// launches and visits in place of those that the mask needs.
[[nodiscard]] TileCount ranked_count(const SearchSpace& space, const TilingProblem& problem,
                                     const TileCount& count);

struct Candidate {
  NeighborhoodMask mask;
  std::size_t tile_choice = 0;  ///< index into SearchSpace::tiles
  TileCount count = {};         ///< of the forward pass; of the backward one where it is alone
  std::optional<TileCount> backward_count = {};  ///< of the backward pass, where both are searched
};

struct SearchResult {
  std::int64_t space_size = 0;  ///< combinations in the space, before constraints
  std::int64_t evaluated = 0;   ///< (axis, window, stride, tile sizes) that were counted to cover all of them
  std::vector<Candidate> candidates;
  /// When a sparsity range left nothing: the attainable sparsity nearest to it under all other constraints.
  /// None with min_speedup, and where too many options would have to be looked at.
  std::optional<double> nearest_sparsity;
};

/// What is settled before the stride product when two combinations have the same objective.
enum class TieBreak {
  kStrideProduct,  ///< nothing
  kFastPath,       ///< those that NATTEN runs without masking come first
};

/// What searches know of the axes of layouts, so that those that follow need not count again. Answers do not depend on it.
class AxisMemory;
[[nodiscard]] std::shared_ptr<AxisMemory> make_axis_memory();

struct SearchRun {
  unsigned threads = 1;                  ///< the result does not depend on it
  std::function<void(double)> progress;  ///< called with 0..1, from any of the threads, one call at a time
  TieBreak tie_break = TieBreak::kStrideProduct;  ///< of search_best
  std::shared_ptr<AxisMemory> memory = {};        ///< of no two searches at once; none: each starts anew
};

/// The `top` best combinations, exactly: the result equals plain enumeration of the space.
///
/// Order: larger objective; then the tie break of `run`; then smaller product of strides; then less uneven
/// windows (largest over smallest L / window, compared exactly); then lexicographically smaller (window,
/// stride, Q tile, KV tile), then the earlier tile choice. Cost: one closed-form count for each axis, window,
/// stride and pair of tile sizes that neither the constraints nor the best of a sketch of the space (windows
/// and strides that tiles divide) exclude, then the classes of equal (window, attended, cost) of all axes but
/// the last, each with a range-minimum query over the last.
/// @throws InvalidParameter on an invalid space or constraint, or when more than 10^8 options remain
///         (up to 14 bytes each); OverflowError, also when only an excluded combination overflows.
[[nodiscard]] SearchResult search_best(const SearchSpace& space, const SearchConstraints& constraints,
                                       Objective objective, std::size_t top, const SearchRun& run = {});

/// The Pareto front over (lower sparsity, smaller stride product, larger objective), whole, in the order of
/// `search_best`. Of combinations equal in all three the first in that order stays.
/// @throws as search_best, and InvalidParameter when the space has more than 2^24 attended-pair combinations.
[[nodiscard]] SearchResult search_pareto(const SearchSpace& space, const SearchConstraints& constraints,
                                         Objective objective, const SearchRun& run = {});

/// The stride ladder: the Pareto front over (smaller stride product, larger worst-case speedup) for one
/// window and one tile pair, by stride product; of equal ones the lexicographically smallest stride.
/// Tables 4.2 to 4.4 of Hassani's dissertation list such ladders.
/// @throws InvalidParameter unless windows are fixed and there is one tile choice.
[[nodiscard]] SearchResult stride_ladder(const SearchSpace& space, const SearchConstraints& constraints,
                                         const SearchRun& run = {});

template <>
struct NamesOf<Objective> {
  static constexpr const char* kConcept = "objective";
  static constexpr auto kTable = [] {
    std::array<Name<Objective>, std::size(kObjectives)> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = {kObjectives[i].objective, kObjectives[i].name};
    return table;
  }();
};

}  // namespace natten_sim

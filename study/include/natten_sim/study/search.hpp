#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/names.hpp>
#include <natten_sim/search/windows/distinct.hpp>
#include <natten_sim/search/windows/search.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/kernel.hpp>
#include <natten_sim/study/setting.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {

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
  PerAxis<bool> causal, cyclic;       ///< empty: no axis is; one value: of all axes
  std::optional<KvTiling> kv_tiling;  ///< none: the chosen backend's, or static
  Extents q_tile, kv_tile;            ///< empty: all of the backend's
  SearchPhase phase = SearchPhase::kForward;
  Extents backward_q_tile, backward_kv_tile;  ///< empty: all of the backend's
  std::vector<TileChoice> tiles;              ///< empty: those that the shapes above leave
  /// Kernels whose tiles are searched and whose times are compared, as TimeQuestion names them; empty: the
  /// backend's.
  std::vector<std::string> kernels;
  std::optional<KernelSchedule> kernel_schedule;  ///< of hopper-fna; none: that of TimeQuestion
  std::optional<double> rest_ms;                  ///< between launches, as in TimeQuestion
  /// An imbalance that is not given is kPresetMaxImbalance where a preset is used and windows are free.
  SearchConstraints constraints;
  bool any = false;                      ///< combinations that NATTEN refuses too
  std::optional<Distinct> distinct;      ///< of kBest; none: kWindow where windows are searched, else kTiles
  std::vector<std::int64_t> dense_axes;  ///< whose window is the whole axis
  /// None: time, where `kind` is kBest and every tile choice has one on the device; else work, or worst for
  /// one tile pair.
  std::optional<Objective> objective;
  SearchKind kind = SearchKind::kBest;
  std::optional<std::int64_t> top;  ///< candidates of kBest; none: kDefaultTop
};

inline constexpr std::int64_t kDefaultTop = 10;

/// Without a bound the best windows of a preset are slivers. Those that publications use for the presets lie
/// within 2, but for one of 5.
inline constexpr double kPresetMaxImbalance = 2.5;

struct SearchCandidate {
  CountedTiles counted;  ///< of the forward pass; of the backward one where it is alone
  TileChoice tiles;
  std::optional<BackwardCount> backward;  ///< where a backward pass is searched
  TileCount ranked;                       ///< of `counted`, with the visits that are ranked: ranked_count()
  std::optional<TileCount> backward_ranked;  ///< where both passes are searched
  double speedup = 1;                        ///< what was maximised; by time, the dense kernels' over these
  KernelAnswer kernel;                    ///< what NATTEN does
  bool dense_path = false;                ///< NATTEN runs it as one dense call, whatever the tiles
  bool fast_path = false;                 ///< NATTEN masks no tile, in any pass
  std::size_t tile_size = 0;              ///< index into SearchAnswer::tile_sizes
  std::optional<PassTime> time, backward_time;  ///< by Objective::kTime, of the passes searched

  [[nodiscard]] double total_ms() const noexcept {
    return (time ? time->total_ms : 0) + (backward_time ? backward_time->total_ms : 0);
  }
};

/// Tokens of the tile that a block holds: Q forward, KV backward.
struct HeldTiles {
  std::optional<std::int64_t> forward, backward;

  friend constexpr bool operator==(const HeldTiles&, const HeldTiles&) = default;
};

/// Combinations that NATTEN refuses, and why: its first rule that they break.
struct SearchExclusion {
  NattenRefusal refusal;
  std::int64_t combinations = 0;
};

struct SearchAnswer {
  SearchQuestion question;  ///< with every default filled in: ranges and tiles say what was searched
  std::int64_t space_size = 0;
  std::int64_t evaluated = 0;
  std::vector<SearchExclusion> excluded;    ///< parts of the space that were not searched
  std::vector<HeldTiles> tile_sizes;        ///< the larger first; candidates are compared within one
  std::vector<SearchCandidate> candidates;  ///< by tile size, then best first
  std::optional<double> nearest_sparsity;   ///< as in SearchResult
  std::optional<Preset> preset;
  std::string time_missing;  ///< why a question without an objective is not ranked by time on its device
  bool tiles_defaulted = false;
  bool imbalance_defaulted = false;
  bool complete = true;    ///< as in DistinctResult
  bool sketched = false;   ///< as in DistinctResult
  bool unbounded = false;  ///< neither window nor sparsity is bounded: the smallest windows win
};

/// What NATTEN refuses is left out, if the context has its rules: kernel sizes of 1, tile pairs and head dims
/// that its backends lack. Tiles that hold a different number of tokens are not compared: a smaller one
/// visits less and takes longer a token, which a count of tiles does not know.
///
/// Exact, whatever `context.threads`; cost and ties as search_best(), search_pareto(), stride_ladder().
/// @throws InvalidParameter, UnknownName, OverflowError
[[nodiscard]] SearchAnswer search(const SearchQuestion& question, const Context& context);

/// The same question for several devices by name, each with its own backend and tiles; none: as search().
[[nodiscard]] std::vector<SearchAnswer> search_on(const SearchQuestion& question,
                                                  const std::vector<std::string>& devices,
                                                  const Context& context);

/// What natten_call_of() makes a call of.
struct CallParts {
  Setting setting;  ///< with the backend of the candidate
  TilingProblem forward;
  std::optional<TilingProblem> backward;
};

/// A candidate as a call. A search of the backward pass alone leaves the forward tiles to NATTEN.
/// @throws InvalidParameter when the backend has no forward tiles for the layout.
[[nodiscard]] CallParts call_parts(const SearchAnswer& answer, const SearchCandidate& candidate,
                                   const Catalog& catalog);

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::SearchKind> {
  static constexpr const char* kConcept = "answer";
  static constexpr Name<study::SearchKind> kTable[] = {{study::SearchKind::kBest, "best"},
                                                       {study::SearchKind::kLadder, "ladder"},
                                                       {study::SearchKind::kPareto, "pareto"}};
};

}  // namespace natten_sim

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
#include <natten_sim/study/recall.hpp>
#include <natten_sim/study/setting.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {

/// The best combinations, the stride ladder of one window, or a Pareto front: whole, by time with a point for every
/// kFrontStep of context.
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
  std::vector<KernelChoice> kernels;
  std::optional<KernelSchedule> kernel_schedule;  ///< of hopper-fna; none: that of TimeQuestion
  std::optional<double> rest_ms;                  ///< between launches, as in TimeQuestion
  /// An imbalance that is not given is kPresetMaxImbalance where a preset is used and windows are free.
  SearchConstraints constraints;
  bool any = false;                      ///< combinations that NATTEN refuses too
  std::optional<Distinct> distinct;      ///< of kBest; none: kWindow where windows are searched, else kTiles
  std::vector<std::int64_t> dense_axes;  ///< whose window is the whole axis
  /// None: time, where a tile choice has one on the device and `kind` is not kLadder; else work, or worst for one
  /// tile pair. By time, tile choices without one are left out, unless the question names their tiles.
  std::optional<Objective> objective;
  SearchKind kind = SearchKind::kBest;
  std::optional<std::int64_t> top;  ///< candidates of kBest; none: kDefaultTop
  RecallQuestion recall;
};

/// Names of devices: in JSON a text if it is one, else an array.
struct DeviceNames {
  std::vector<std::string> names;
};

/// The same question on several devices, whose answers stand side by side; none: on that of the setting.
struct DevicesSearch {
  SearchQuestion question;
  DeviceNames devices;
};

inline constexpr std::int64_t kDefaultTop = 10;
/// Each point of a front by time attends to at least so many times the pairs of the one before it.
inline constexpr double kFrontStep = 1.05;

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

/// A kernel that was asked for, or tiles of it, that have no times where others have.
struct LeftOutKernel {
  std::string kernel;
  std::string reason;  ///< `gna runs on sm90 alone, ..`
};

struct SearchAnswer {
  SearchQuestion question;  ///< with every default filled in: ranges and tiles say what was searched
  std::int64_t space_size = 0;
  std::int64_t evaluated = 0;
  std::vector<SearchExclusion> excluded;    ///< parts of the space that were not searched
  std::vector<LeftOutKernel> left_out;      ///< of SearchQuestion::kernels
  std::vector<HeldTiles> tile_sizes;        ///< the larger first; candidates are compared within one
  std::vector<SearchCandidate> candidates;  ///< by tile size, then best first
  std::optional<double> nearest_sparsity;   ///< as in SearchResult
  std::optional<Preset> preset;
  std::optional<MaskRecalls> recalls;  ///< of the candidates, with a table alone
  std::optional<RecallChoice> choice;  ///< with a wish
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
/// With a wish of recall the answer is a window for every head. Candidates then are dense attention and, for every tile
/// choice that the question leaves (of more than 1,024 those of the sizes that are fastest a pair of tokens), windows of whole KV tiles or whole axes, with stride 1, strides of a Q tile, and
/// strides that NATTEN need not mask; at most 24 windows along an axis, evenly spaced. Each has its fastest tiles. Heads
/// climb the hull of recall over time (search's RecallTrade) until the wish ends them; then single heads take candidates
/// off the hull that end nearer to it, as long as the launches take less, or keep more; where one window for a layer
/// does better so than windows for its heads, its heads have that. A budget holds for the launches as they are, asked
/// one by one. Not proved best: RecallChoice::least_ms and most_recall bound what is missing. They take for each
/// head the least share that it has of any launch of its window, and let heads be split between windows. Ranges, tiles,
/// sparsity, imbalance and the fast path are those of the question. Cost: a time for each candidate that its bound leaves
/// on a hull, and MaskRecall's of each head.
///
/// Exact but for such a choice, whatever `context.threads`; cost and ties as search_best(), search_pareto(), stride_ladder().
/// @throws InvalidParameter, UnknownName, OverflowError; with a wish also for both wishes, a table of other heads than the
/// question's, constraints that are not named above, a budget below what the fastest candidates take, a recall that none
/// reaches; as recalls_of().
[[nodiscard]] SearchAnswer search(const SearchQuestion& question, const Context& context);

/// The same question for several devices by name, each with its own backend and tiles; none: as search().
[[nodiscard]] std::vector<SearchAnswer> search_on(const SearchQuestion& question,
                                                  const std::vector<std::string>& devices,
                                                  const Context& context);

/// What was asked, with every default filled in as far as it is one for all devices.
[[nodiscard]] DevicesSearch filled_in(const DevicesSearch& asked, const std::vector<SearchAnswer>& answers);

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

/// A candidate as a question of count().
[[nodiscard]] CountQuestion count_question(const SearchAnswer& answer, const SearchCandidate& candidate);

template <typename Members>
void describe_windows(Members& members, const SearchQuestion& question) {
  using Q = SearchQuestion;
  members.group("Windows");
  members.add("window", &Q::window,
              {.flags = "-w,--window,--window-size",
               .help = "Fixed window, one size per axis [{window_range}]",
               .echo = Echo::kNever,
               .batch = true});
  members.add("window_range", &Q::window_range,
              {.value = "LO:HI",
               .help = "Windows to try, one range for all axes or per axis [1..length/dilation]",
               .excludes = {"window"}});
  members.add("stride", &Q::stride,
              {.flags = "-s,--stride",
               .help = "Fixed stride, one per axis [all]",
               .echo = Echo::kNever,
               .batch = true});
  members.add("stride_max", &Q::stride_max,
              {.help = "Largest stride, for all axes or per axis [the window]",
               .echo = Echo::kNever,
               .batch = true,
               .excludes = {"stride"}});
  members.key("stride_range", &Q::stride_range,
              {.help = "Strides to try, one range for all axes or per axis [1..window]"});
  describe_axes(members, question);
}

template <typename Members>
void describe_tiles(Members& members, const SearchQuestion&) {
  using Q = SearchQuestion;
  members.group("Tiles and passes");
  members.add("kv_tiling", &Q::kv_tiling,
              {.value = "KIND",
               .help = "KV tiles on a fixed grid (static) or from each Q tile's first key (dynamic) " +
                       default_text("the chosen backend's", kDefaultKvTiling)});
  const auto add_shape = [&](const char* name, auto member, const char* help) {
    members.add(name, member, {.help = help, .echo = Echo::kNever, .batch = true});
  };
  add_shape("q_tile", &Q::q_tile, "Q tile shape in tokens [all of the backend's]");
  add_shape("kv_tile", &Q::kv_tile, "KV tile shape in tokens [all of the backend's]");
  members.add("phase", &Q::phase,
              {.help = "Passes to search; both: one window and stride for the two, work weighted 2 to 5 for "
                       "equal head dims [default]"});
  add_shape("backward_q_tile", &Q::backward_q_tile, "Q tile shape of the backward pass [all of the backend's]");
  add_shape("backward_kv_tile", &Q::backward_kv_tile,
            "KV tile shape of the backward pass [all of the backend's]");
  members.key("tiles", &Q::tiles,
              {.help = "Tile pairs to try, as the input of an answer lists them [those of the shapes above]"});
}

template <typename Members>
void describe_constraints(Members& members) {
  using C = SearchConstraints;
  members.group("Constraints");
  members.add("sparsity", &C::sparsity,
              {.value = "LO:HI", .help = "Sparsity range, fractions, both included, or the most alone [any]"});
  members.add("window_multiple_of_kv_tile", &C::window_multiple_of_kv_tile,
              {.help = "Windows that are multiples of the KV tile on every axis"});
  members.add("max_imbalance", &C::max_imbalance,
              {.value = "X",
               .help = "Largest over smallest length/window among the axes, 1 or more [" +
                       default_word(kPresetMaxImbalance) + " with a preset and free windows, else any]",
               .interval = {1, 1e12},
               .accepted = "a number of 1 or more"});
  members.add("fully_block_sparse", &C::fully_block_sparse,
              {.help = "Only configurations without partially masked tiles"});
  members.add("natten_fast_path", &C::natten_fast_path,
              {.help = "Only configurations that NATTEN runs without masking"});
  members.add("min_speedup", &C::min_speedup,
              {.value = "X",
               .help = "Smallest speedup, of the kind that {objective} names [any]",
               .interval = {1e-6, 1e12},
               .accepted = "a positive number"});
  members.add("no_padding", &C::no_padding, {.help = "Only tiles that divide every axis"});
}

template <typename Members>
void describe_ranking(Members& members, const SearchQuestion& question) {
  using Q = SearchQuestion;
  members.group("Ranking");
  members.add("objective", &Q::objective,
              {.help = "What to rank by: time (predicted, copies into tiles included), or a speedup: work, worst "
                       "(the published measure), mean, flop, e2e (ranks by worst) [time where it is known; else "
                       "work, or worst for one tile pair]"});
  members.add("kernel", &Q::kernels,
              {.help = "Kernels whose tiles and times are compared on the device: hopper-fna, blackwell-fna, "
                       "flexattention, gna, or a kernel file (FILE.json) [the backend's]",
               .echo = Echo::kNever,  // the tiles say it
               .batch = true,
               .excludes = {"backend", "any"}});
  describe_launch(members, question);
  members.choose("ladder", &Q::kind, SearchKind::kLadder,
                 {.help = "Stride ladder of a fixed window: the front over stride product and worst-case "
                          "speedup",
                  .echo = Echo::kNever,
                  .batch = true});
  members.choose("pareto", &Q::kind, SearchKind::kPareto,
                 {.help = "Front of time against attended pairs, a point for every 5% of context; by another "
                          "objective over lower sparsity, smaller stride product, higher speedup, whole",
                  .echo = Echo::kNever,
                  .batch = true,
                  .excludes = {"ladder"}});
  members.key("answer", &Q::kind, {.help = "What {ladder} and {pareto} choose, by name [default]"});
  members.add("distinct", &Q::distinct,
              {.value = "WHAT",
               .help = "Rows differ in their window, their window and stride, or the tiles that are visited; "
                       "none: every configuration is a row [window; tiles for a fixed window]",
               .echo = Echo::kWhenSet,
               .excludes = {"ladder", "pareto"}});
  members.add("top", &Q::top,
              {.help = "How many candidates " + default_text(kDefaultTop),
               .range = {1, 100'000},
               .echo = Echo::kWhenSet});
}

/// All but the preset and the devices.
template <typename Members>
void describe(Members& members, const SearchQuestion& question) {
  using Q = SearchQuestion;
  members.part(&Q::setting, [](auto& setting) { describe_input(setting); });
  describe_windows(members, question);
  describe_tiles(members, question);
  members.part(&Q::setting, [](auto& setting) { describe_backend(setting, Echo::kNever); });
  members.part(&Q::constraints, [](auto& constraints) { describe_constraints(constraints); });
  members.group("Constraints");
  members.add("dense_axes", &Q::dense_axes,
              {.value = "AXIS", .help = "Axes, from 0, whose window is the whole axis [none]", .range = {.lo = 0}});
  members.add("any", &Q::any, {.help = "Keep configurations that NATTEN refuses"});
  describe_ranking(members, question);
  members.part(&Q::recall, [](auto& recall) { describe_recall(recall); });
  members.part(&Q::setting, [](auto& setting) { describe_workload(setting); });
}

template <typename Members>
void describe(Members& members, const DevicesSearch& search) {
  using Q = DevicesSearch;
  members.part(within(&Q::question, &SearchQuestion::setting), [](auto& setting) { describe_preset(setting); });
  members.group("Kernel and device");
  members.add("device", &Q::devices,
              {.help = "Take the backend that suits a GPU; several stand side by side",
               .echo = Echo::kWhenSet,
               .names = NamesOfCatalog::kDevices});
  members.part(&Q::question, [&](auto& question) { describe(question, search.question); });
}

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

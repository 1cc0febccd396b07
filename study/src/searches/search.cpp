#include <algorithm>
#include <cmath>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/fast_path.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/study/kernel_choice.hpp>
#include <natten_sim/study/search.hpp>

#include "searches/prepared_search.hpp"
#include "searches/recall_candidates.hpp"
#include "searches/search_space.hpp"

namespace natten_sim::study {
namespace {

HeldTiles held_tiles(const SearchSpace& space, const TileChoice& choice) {
  HeldTiles held;
  if (has_pass(space.phase, Walk::kForward)) held.forward = product(choice.tiles.q_tile, "q_tile");
  if (has_pass(space.phase, Walk::kBackward))
    held.backward = product(choice.backward_tiles.kv_tile, "kv_tile");
  return held;
}

/// Tile choices that are compared with each other, as parts of a space.
struct TileSize {
  HeldTiles held;
  SearchSpace space;
};

/// The larger tiles first.
std::vector<TileSize> tile_sizes(const SearchSpace& space, Objective objective) {
  std::vector<TileSize> sizes;
  for (const TileChoice& choice : space.tiles) {
    const HeldTiles held = row_of(objective).compares_tile_sizes ? HeldTiles{} : held_tiles(space, choice);
    auto size =
        std::find_if(sizes.begin(), sizes.end(), [&](const TileSize& other) { return other.held == held; });
    if (size == sizes.end()) {
      size = sizes.insert(sizes.end(), {held, space});
      size->space.tiles.clear();
    }
    size->space.tiles.push_back(choice);
  }
  const auto key = [](const TileSize& size) {
    return std::pair{size.held.forward.value_or(0), size.held.backward.value_or(0)};
  };
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](const TileSize& a, const TileSize& b) { return key(a) > key(b); });
  return sizes;
}

/// Pairs of windows that are not dense attention, which NATTEN runs by another kernel; none: all windows are.
std::optional<std::int64_t> most_of_windows(const SearchQuestion& question, const SearchSpace& space) {
  const Extents& input = space.input;
  if (asks_cycle(space.cyclic) || product(space.dilation, "dilation") > 1 ||
      !takes_dense_path(input, input, space.causal, question.setting.add_kv > 0))
    return std::nullopt;
  std::int64_t pairs = 1;
  for (const AxisMask& axis : make_mask(input, input, {}, {}, space.causal))
    pairs = checked_multiply(pairs, attended_pairs(axis), "attended_pairs");
  return pairs - 1;
}

DistinctResult run_by_time(const SearchQuestion& question, const SearchSpace& space, const TimeObjective& timed,
                           const SearchRun& options) {
  if (question.kind == SearchKind::kBest)
    return search_fastest(space, question.constraints, timed, static_cast<std::size_t>(*question.top),
                          *question.distinct, options);
  SearchConstraints constraints = question.constraints;
  if (const std::optional<std::int64_t> most = most_of_windows(question, space)) constraints.most_attended = *most;
  return search_time_front(space, constraints, timed, kFrontStep, options);
}

DistinctResult run_by_count(const SearchQuestion& question, const SearchSpace& space, const SearchRun& options) {
  const SearchConstraints& constraints = question.constraints;
  const Objective objective = row_of(*question.objective).ranks_by;
  switch (question.kind) {
    case SearchKind::kLadder:
      return {stride_ladder(space, constraints, options)};
    case SearchKind::kPareto:
      return {search_pareto(space, constraints, objective, options)};
    case SearchKind::kBest:
      break;
  }
  return search_distinct(space, constraints, objective, static_cast<std::size_t>(*question.top),
                         *question.distinct, options);
}

double speedup_of(const SearchCandidate& candidate, const SearchQuestion& question,
                  const PassWeights& weights) {
  if (*question.objective == Objective::kEndToEnd)
    return end_to_end_speedup(candidate.counted.end_to_end->share, candidate.ranked.speedup_worst());
  const Objective objective = row_of(*question.objective).ranks_by;
  const double first = natten_sim::speedup_of(candidate.ranked, objective);
  if (question.phase != SearchPhase::kBoth) return first;
  const auto forward = static_cast<double>(weights.forward), backward = static_cast<double>(weights.backward);
  return (forward + backward) /
         (forward / first + backward / natten_sim::speedup_of(*candidate.backward_ranked, objective));
}

/// NATTEN always has a forward pass; its tiles are NATTEN's own where the backward pass is searched alone.
KernelAnswer kernel_of(const SearchCandidate& candidate, const SearchSpace& space,
                       const SearchQuestion& question, const Context& context) {
  const CallParts parts =
      call_parts_in(question, space, candidate.counted.problem.mask, candidate.tiles, context.catalog);
  const bool backward_alone = space.phase == SearchPhase::kBackward;
  const TileCount forward = backward_alone ? count_tiles(parts.forward) : candidate.counted.count;
  KernelAnswer answer =
      kernel_answer({.setting = parts.setting,
                     .forward = parts.forward,
                     .forward_count = forward,
                     .backward = parts.backward ? &*parts.backward : nullptr,
                     .backward_count = candidate.backward ? &candidate.backward->count : nullptr},
                    context);
  if (backward_alone) answer.forward.reset();
  return answer;
}

SearchCandidate candidate_of(const Candidate& found, const SearchSpace& space, const SearchQuestion& question,
                             const Context& context) {
  const TileChoice& tiles = space.tiles[found.tile_choice];
  Setting setting = setting_of(question.setting, tiles);
  const Walk walk = space.phase == SearchPhase::kBackward ? Walk::kBackward : Walk::kForward;
  if (walk == Walk::kBackward) setting.add_kv = 0;  // counted with the forward pass
  if (space.phase != SearchPhase::kForward)
    setting.attention_share.reset();  // the share is that of inference
  SearchCandidate candidate{
      .counted = counted_tiles(problem_of(space, found.mask, tiles, walk), found.count, setting),
      .tiles = tiles,
      .backward = {},
      .kernel = {}};
  if (has_pass(space.phase, Walk::kBackward)) {
    const TileCount& count = found.backward_count.value_or(found.count);
    const Workload workload = workload_of(setting);
    candidate.backward = BackwardCount{.problem = problem_of(space, found.mask, tiles, Walk::kBackward),
                                       .count = count,
                                       .flops = flops_that_fit(count, workload),
                                       .approximate_mma_flops = approximate_mma_flops(count, workload)};
  }
  candidate.ranked = ranked_count(space, candidate.counted.problem, found.count);
  if (found.backward_count)
    candidate.backward_ranked = ranked_count(space, candidate.backward->problem, *found.backward_count);
  candidate.fast_path = candidate.counted.natten_fast_path &&
                        (!candidate.backward || natten_fast_path(candidate.backward->problem));
  if (of_natten(tiles)) candidate.kernel = kernel_of(candidate, space, question, context);
  candidate.speedup = speedup_of(candidate, question, space.weights);
  candidate.dense_path =
      !has_cycle(found.mask) && takes_dense_path(space.input, window_of(found.mask), space.causal, question.setting.add_kv > 0);
  return candidate;
}

/// The worst-case speedup with which the whole model reaches `end_to_end`.
/// @throws InvalidParameter when no speedup of attention does.
double worst_speedup_for(double end_to_end, const AttentionShare& share) {
  // 1 / (1 - p + p (k + (1 - k) / s)) = e, solved for s.
  const double dense = static_cast<double>(share.dense_steps) / static_cast<double>(share.steps);
  const double left = 1 / end_to_end - (1 - share.share) - share.share * dense;
  if (left > 0) return share.share * (1 - dense) / left;
  throw InvalidParameter("min-speedup", std::to_string(end_to_end),
                         "below " + std::to_string(1 / (1 - share.share + share.share * dense)) +
                             ", what the model gains if attention takes no time");
}

/// Rows that the window over the whole input can take: as many more have to be asked for where it is refused.
std::int64_t dense_rows(const SearchQuestion& question, const SearchSpace& space,
                        const SearchExclusion& dense) {
  constexpr std::int64_t kMost = 100'000;
  switch (*question.distinct) {
    case Distinct::kWindow:
    case Distinct::kStride:
      break;
    case Distinct::kTiles:
      return static_cast<std::int64_t>(space.tiles.size());
    case Distinct::kNone:
      return std::min(dense.combinations, kMost);
  }
  return 1;
}

/// Searches the tiles of each size by themselves; those of all sizes together by time.
void search_sizes(const SearchSpace& space, const TimeObjective* timed, const Context& context, SearchAnswer& answer) {
  SearchQuestion question = answer.question;
  if (*question.objective == Objective::kEndToEnd && question.constraints.min_speedup) {
    question.constraints.min_speedup =
        worst_speedup_for(*question.constraints.min_speedup, *share_of(question.setting));
  }
  const std::optional<SearchExclusion> dense = refused_dense_window(question, context, space);
  if (dense) answer.excluded.push_back(*dense);
  const std::optional<std::int64_t> top = question.top;
  if (dense && top) question.top = *top + dense_rows(question, space, *dense);
  const std::vector<TileSize> sizes = tile_sizes(space, *question.objective);
  for (std::size_t index = 0; index < sizes.size(); ++index) {
    const auto part = [&](double done) {
      context.progress((static_cast<double>(index) + done) / static_cast<double>(sizes.size()));
    };
    SearchRun options;
    options.threads = context.threads;
    options.tie_break = TieBreak::kFastPath;
    options.memory = context.axis_memory;
    if (context.progress) options.progress = part;
    const SearchSpace& of_size = sizes[index].space;
    const DistinctResult found =
        timed != nullptr ? run_by_time(question, of_size, *timed, options) : run_by_count(question, of_size, options);
    answer.evaluated += found.search.evaluated;
    answer.complete = answer.complete && found.complete;
    answer.sketched = answer.sketched || found.sketched;
    answer.tile_sizes.push_back(sizes[index].held);
    if (!answer.nearest_sparsity) answer.nearest_sparsity = found.search.nearest_sparsity;
    std::int64_t rows = 0;
    for (const Candidate& candidate : found.search.candidates) {
      if (top && rows == *top) break;
      SearchCandidate row = candidate_of(candidate, of_size, question, context);
      if (dense && row.dense_path) continue;
      row.tile_size = index;
      if (timed != nullptr) add_times(question, of_size, context, row);
      answer.candidates.push_back(std::move(row));
      ++rows;
    }
  }
}

/// The question with the kernel that has cyclic axes, unless it names tiles or a backend for them.
SearchQuestion with_cyclic_kernel(SearchQuestion question) {
  if (!asks_cycle(question.cyclic)) return question;
  for (const std::string& kernel : question.kernels) require_cyclic_kernel(kernel);
  if (!question.kernels.empty() || !question.tiles.empty() || question.setting.backend) return question;
  if (question.setting.device) {
    question.kernels = {kCyclicKernel};
  } else {
    question.setting.backend = to_string(NattenBackend::kFlexFna);
  }
  return question;
}

}  // namespace

PreparedSearch::PreparedSearch(const SearchQuestion& question, const Context& context) : context_(context) {
  SearchQuestion& full = known_.question = with_cyclic_kernel(question);
  full.setting = resolved(full.setting, context.catalog, has_pass(question.phase, Walk::kBackward));
  if (full.recall.table && !full.setting.input.empty())  // refused before anything is searched
    tables_.emplace("recall", *full.recall.table, full.setting.input);
  space_ = space_of(context.catalog, known_);
  known_.unbounded = full.kind == SearchKind::kBest && question.window.empty() && question.window_range.empty() &&
                     full.dense_axes.size() < space_.input.rank();
  known_.space_size = space_size(space_);
  known_.excluded = leave_out_refused(full, context, space_);
  if (full.setting.preset) known_.preset = context.catalog.preset(*full.setting.preset);
  const bool asked = question.objective == Objective::kTime;
  if (!asked && (question.objective || full.kind == SearchKind::kLadder || !full.setting.device)) return;
  const bool any_tiles = question.tiles.empty() && question.q_tile.empty() && question.kv_tile.empty() &&
                         question.backward_q_tile.empty() && question.backward_kv_tile.empty();
  if (any_tiles && full.setting.device) {
    for (LeftOutKernel& each : leave_out_untimed(full, context, space_)) known_.left_out.push_back(std::move(each));
    full.tiles = space_.tiles;
  }
  auto found = search_times(full, space_, context);
  if (const auto* missing = std::get_if<MissingTime>(&found)) {
    if (asked)
      throw InvalidParameter("objective", "time", "a time for every tile choice: " + missing->sentence, "work");
    known_.time_missing = missing->sentence;
  } else {
    full.objective = Objective::kTime;
    times_ = std::get<SearchTimes>(std::move(found));
  }
}

SearchAnswer PreparedSearch::answer(const SearchConstraints& constraints, std::optional<std::int64_t> top) {
  SearchAnswer answer = known_;
  SearchQuestion& full = answer.question;
  full.constraints = constraints;
  full.top = top;
  answer.unbounded = answer.unbounded && !constraints.sparsity;
  if (times_) times_->require_speedup(constraints.min_speedup);
  search_sizes(space_, times_ ? &times_->objective : nullptr, context_, answer);
  if (full.recall.table && !answer.candidates.empty()) {
    std::vector<NeighborhoodMask> masks;
    for (const SearchCandidate& each : answer.candidates) masks.push_back(each.counted.problem.mask);
    if (!tables_) tables_.emplace("recall", *full.recall.table, full.setting.input);
    answer.recalls = recalls_of(std::move(*tables_), full.setting.input, masks, context_);
    tables_.reset();
  }
  return answer;
}

SearchAnswer search(const SearchQuestion& question, const Context& given) {
  const WithKernels kernels(given, question.kernels);
  const Context& context = kernels.get();
  if (question.recall.has_wish()) return choose_by_recall(question, context);
  PreparedSearch prepared(question, context);
  const SearchQuestion& full = prepared.known().question;
  return prepared.answer(full.constraints, full.top);
}

std::vector<SearchAnswer> search_on(const SearchQuestion& question, const std::vector<std::string>& devices,
                                    const Context& context) {
  if (devices.empty()) return {search(question, context)};
  std::vector<SearchAnswer> answers;
  const auto parts = static_cast<double>(devices.size());
  for (const std::string& device : devices) {
    SearchQuestion on_device = question;
    on_device.setting.device = device;
    Context part = context;
    const auto before = static_cast<double>(answers.size());
    if (context.progress) part.progress = [&](double done) { context.progress((before + done) / parts); };
    answers.push_back(search(on_device, part));
  }
  if (answers.size() == 1) return answers;
  // One measure for all: that of the first device without times.
  for (const SearchAnswer& answer : answers) {
    if (*answer.question.objective == Objective::kTime || question.objective) continue;
    SearchQuestion same = question;
    same.objective = answer.question.objective;
    std::vector<SearchAnswer> alike = search_on(same, devices, context);
    alike.front().time_missing = *answer.question.setting.device + ": " + answer.time_missing;
    return alike;
  }
  return answers;
}

DevicesSearch filled_in(const DevicesSearch& asked, const std::vector<SearchAnswer>& answers) {
  DevicesSearch full = asked;
  full.question = answers.front().question;
  if (answers.size() == 1) return full;
  full.question.tiles = asked.question.tiles;
  full.question.kv_tiling = asked.question.kv_tiling;
  return full;
}

}  // namespace natten_sim::study

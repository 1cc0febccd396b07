#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::study {
namespace {

constexpr std::int64_t kDefaultTop = 10;

/// One range an axis; the only one given is for all of them.
PerAxis<IntRange> ranges_of(const PerAxis<IntRange>& ranges, std::size_t rank) {
  if (ranges.rank() == 1) return PerAxis<IntRange>(rank, ranges[0]);
  if (ranges.rank() != rank) {
    throw InvalidParameter("window-range", std::to_string(ranges.rank()) + " ranges",
                           "one LO:HI for all axes or " + std::to_string(rank) + ", one an axis");
  }
  return ranges;
}

void narrow_windows(const SearchQuestion& question, SearchSpace& space) {
  const std::size_t rank = space.input.rank();
  const bool for_all = question.window_range.rank() == 1;
  const PerAxis<IntRange> ranges = ranges_of(question.window_range, rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t widest = space.window[axis].hi;
    const IntRange range =
        for_all ? IntRange{ranges[axis].lo, std::min(ranges[axis].hi, widest)} : ranges[axis];
    if (range.lo > range.hi || range.hi > widest) {
      throw InvalidParameter("window-range",
                             std::to_string(ranges[axis].lo) + ":" + std::to_string(ranges[axis].hi) +
                                 " on axis " + std::to_string(axis),
                             "LO:HI within 1.." + std::to_string(widest));
    }
    space.window[axis] = range;
  }
}

void make_dense(std::int64_t number, SearchSpace& space) {
  const std::int64_t last = static_cast<std::int64_t>(space.input.rank()) - 1;
  if (number < 0 || number > last) {
    throw InvalidParameter("dense-axes", "'" + std::to_string(number) + "'",
                           "integers in 0.." + std::to_string(last), std::to_string(number < 0 ? 0 : last));
  }
  const auto axis = static_cast<std::size_t>(number);
  if (space.dilation[axis] != 1) {
    throw InvalidParameter("dense-axes", std::to_string(number),
                           "axes without dilation: a dilated axis is never dense");
  }
  const IntRange window = space.window[axis];
  if (window.hi != space.input[axis])
    throw InvalidParameter("dense-axes", std::to_string(number), "axes whose window may be the whole axis");
  space.window[axis] = {window.hi, window.hi};
}

void set_windows(const SearchQuestion& question, SearchSpace& space) {
  if (!question.window.empty()) {
    (void)make_mask(space.input, question.window, {}, space.dilation, space.causal);
    for (std::size_t axis = 0; axis < space.input.rank(); ++axis)
      space.window[axis] = {question.window[axis], question.window[axis]};
  }
  if (!question.window_range.empty()) narrow_windows(question, space);
  for (const std::int64_t axis : question.dense_axes) make_dense(axis, space);
}

void set_strides(const SearchQuestion& question, SearchSpace& space) {
  const std::size_t rank = space.input.rank();
  if (!question.stride.empty()) {
    Extents widest;
    for (const IntRange& window : space.window) widest.push_back(window.hi);
    (void)make_mask(space.input, widest, question.stride, space.dilation, space.causal);
    for (std::size_t axis = 0; axis < rank; ++axis)
      space.stride[axis] = {question.stride[axis], question.stride[axis]};
  } else if (!question.stride_max.empty()) {
    Extents most = question.stride_max;
    if (most.rank() == 1) most = Extents(rank, most[0]);
    require_extents("stride-max", most, rank, 1, kMaxAxisLength);
    for (std::size_t axis = 0; axis < rank; ++axis)
      space.stride[axis] = {1, std::min(most[axis], space.input[axis])};
  } else if (!question.stride_range.empty()) {
    if (question.stride_range.rank() != rank) {
      throw InvalidParameter("stride_range", std::to_string(question.stride_range.rank()) + " ranges",
                             std::to_string(rank) + ", one an axis");
    }
    space.stride = question.stride_range;
  }
}

void set_tiles(const SearchQuestion& question, const Setting& setting, const Catalog& catalog,
               SearchAnswer& answer, SearchSpace& space) {
  const std::size_t rank = space.input.rank();
  const Extents &q_tile = question.q_tile, &kv_tile = question.kv_tile;
  if (!question.tiles.empty()) {
    space.tiles = question.tiles;
    return;
  }
  if ((!q_tile.empty() && !kv_tile.empty()) || question.kind == SearchKind::kLadder) {
    const ChosenTiles chosen = choose_tiles(setting, catalog, q_tile, kv_tile, rank, Walk::kForward);
    answer.tiles_defaulted = chosen.defaulted;
    space.tiles = {{chosen.backend.value_or(""), chosen.tiles}};
    return;
  }
  const Backend& backend = effective_backend(setting, catalog);
  for (const TilePair& pair : tile_pairs(backend, rank, *setting.head_dim, Walk::kForward)) {
    if ((q_tile.empty() || pair.q_tile == q_tile) && (kv_tile.empty() || pair.kv_tile == kv_tile))
      space.tiles.push_back({backend.name, pair});
  }
  if (space.tiles.empty())
    (void)choose_tiles(setting, catalog, q_tile, kv_tile, rank, Walk::kForward);  // says what is wrong
}

void resolve_objective(const SearchSpace& space, SearchQuestion& question) {
  const bool ladder = question.kind == SearchKind::kLadder;
  if (!question.objective)
    question.objective = ladder || space.tiles.size() == 1 ? SearchObjective::kWorst : SearchObjective::kWork;
  if (question.objective == SearchObjective::kEndToEnd && !question.setting.attention_share) {
    throw InvalidParameter(
        "objective", "e2e",
        "together with " + mention("attention-share") +
            " or a preset that has one; else work, worst, mean or flop");
  }
  if (ladder && question.objective != SearchObjective::kWorst) {
    throw InvalidParameter("objective", to_string(*question.objective),
                           "worst for " + mention("ladder") + ": a ladder is over worst-case speedups");
  }
}

Objective library_objective(SearchObjective objective) {
  switch (objective) {
    case SearchObjective::kWork:
      return Objective::kWork;
    case SearchObjective::kMean:
      return Objective::kMean;
    case SearchObjective::kFlop:
      return Objective::kFlop;
    case SearchObjective::kWorst:
    case SearchObjective::kEndToEnd:
      break;
  }
  return Objective::kWorst;
}

SearchResult run(const SearchQuestion& question, const SearchSpace& space, const Context& context) {
  const SearchRun options{context.threads, context.progress};
  const Objective objective = library_objective(*question.objective);
  switch (question.kind) {
    case SearchKind::kLadder:
      return stride_ladder(space, question.constraints, options);
    case SearchKind::kPareto:
      return search_pareto(space, question.constraints, objective, options);
    case SearchKind::kBest:
      break;
  }
  return search_best(space, question.constraints, objective, static_cast<std::size_t>(*question.top),
                     options);
}

/// The space that the question asks for; fills in what it left out.
SearchSpace space_of(SearchQuestion& question, const Catalog& catalog, SearchAnswer& answer) {
  const Setting& setting = question.setting;
  if (setting.input.empty())
    throw InvalidParameter("input", "none",
                           mention("input") + " with one size an axis, or " + mention("preset"));
  SearchSpace space = full_space(setting.input, question.dilation);
  if (!question.causal.empty()) {
    space.causal = question.causal;
    (void)make_mask(setting.input, Extents(setting.input.rank(), 1), {}, {}, space.causal);
  }
  space.kv_tiling = effective_kv_tiling(question.kv_tiling, setting, catalog);
  set_windows(question, space);
  if (question.kind == SearchKind::kLadder && question.window.empty())
    throw InvalidParameter("window", "none", "one fixed " + mention("window") + " for " + mention("ladder"));
  set_strides(question, space);
  set_tiles(question, setting, catalog, answer, space);
  question.top = question.kind == SearchKind::kBest ? std::optional(question.top.value_or(kDefaultTop))
                                                    : std::nullopt;
  resolve_objective(space, question);
  question.window_range = space.window;
  question.stride_range = space.stride;
  question.dilation = space.dilation;
  question.causal = space.causal;
  question.kv_tiling = space.kv_tiling;
  question.tiles = space.tiles;
  return space;
}

}  // namespace

SearchAnswer search(const SearchQuestion& question, const Context& context) {
  SearchAnswer answer;
  SearchQuestion& full = answer.question = question;
  full.setting = resolved(question.setting, context.catalog);
  const SearchSpace space = space_of(full, context.catalog, answer);
  answer.unbounded = full.kind == SearchKind::kBest && question.window.empty() &&
                     question.window_range.empty() && !full.constraints.sparsity &&
                     full.dense_axes.size() < space.input.rank();
  SearchResult result = run(full, space, context);
  answer.space_size = result.space_size;
  answer.evaluated = result.evaluated;
  answer.nearest_sparsity = result.nearest_sparsity;
  for (const Candidate& candidate : result.candidates) {
    const TileChoice& tiles = space.tiles[candidate.tile_choice];
    const TilingProblem problem{.mask = candidate.mask, .tiles = tiles.tiles, .kv_tiling = space.kv_tiling};
    answer.candidates.push_back({counted_tiles(problem, candidate.count, full.setting), tiles});
  }
  if (full.setting.preset) answer.preset = context.catalog.preset(*full.setting.preset);
  return answer;
}

}  // namespace natten_sim::study

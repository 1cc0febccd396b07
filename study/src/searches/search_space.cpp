#include "searches/search_space.hpp"
#include "searches/search_times.hpp"

#include <algorithm>
#include <numeric>

#include <natten_sim/core/error.hpp>

namespace natten_sim::study {
namespace {

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
    const Extents window =
        window_of(make_mask(space.input, question.window, {}, space.dilation, space.causal, space.cyclic));
    for (std::size_t axis = 0; axis < space.input.rank(); ++axis)
      space.window[axis] = {window[axis], window[axis]};
  }
  if (!question.window_range.empty()) narrow_windows(question, space);
  for (const std::int64_t axis : question.dense_axes) make_dense(axis, space);
}

void set_strides(const SearchQuestion& question, SearchSpace& space) {
  const std::size_t rank = space.input.rank();
  if (!question.stride.empty()) {
    Extents widest;
    for (const IntRange& window : space.window) widest.push_back(window.hi);
    const Extents stride =
        stride_of(make_mask(space.input, widest, question.stride, space.dilation, space.causal, space.cyclic));
    for (std::size_t axis = 0; axis < rank; ++axis) space.stride[axis] = {stride[axis], stride[axis]};
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

bool fixed_windows(const SearchSpace& space) {
  return std::all_of(space.window.begin(), space.window.end(),
                     [](const IntRange& window) { return window.lo == window.hi; });
}

/// Whether the backend implements both shapes of a pass.
bool implements(const Setting& setting, const Catalog& catalog, const Extents& q_tile, const Extents& kv_tile,
                Walk walk) {
  if (q_tile.empty() || kv_tile.empty()) return true;
  return choose_tiles(setting, catalog, q_tile, kv_tile, q_tile.rank(), walk).backend.has_value();
}

/// Both tile shapes are given and no backend is: the first one that implements them, the default one before
/// all others. None: no backend does.
std::optional<std::string> backend_with_tiles(const SearchQuestion& question, const Catalog& catalog) {
  std::vector<std::string> names = {kDefaultBackend};
  for (const Backend& backend : catalog.backends) names.push_back(backend.name);
  for (const std::string& name : names) {
    Setting setting = question.setting;
    setting.backend = name;
    if (implements(setting, catalog, question.q_tile, question.kv_tile, Walk::kForward) &&
        implements(setting, catalog, question.backward_q_tile, question.backward_kv_tile, Walk::kBackward))
      return name;
  }
  return std::nullopt;
}

struct PassTiles {
  std::vector<TilePair> pairs;
  std::string backend;
};

/// The pairs of a pass that the given shapes leave: one for a ladder or where both are given.
PassTiles tiles_of_pass(const SearchQuestion& question, const Catalog& catalog, Walk walk,
                        SearchAnswer& answer) {
  const Setting& setting = question.setting;
  const std::size_t rank = setting.input.rank();
  const bool forward = walk == Walk::kForward;
  const Extents& q_tile = forward ? question.q_tile : question.backward_q_tile;
  const Extents& kv_tile = forward ? question.kv_tile : question.backward_kv_tile;
  if ((!q_tile.empty() && !kv_tile.empty()) || question.kind == SearchKind::kLadder) {
    const ChosenTiles chosen = choose_tiles(setting, catalog, q_tile, kv_tile, rank, walk);
    answer.tiles_defaulted = answer.tiles_defaulted || chosen.defaulted;
    return {{chosen.tiles}, chosen.backend.value_or("")};
  }
  const Backend& backend = effective_backend(setting, catalog);
  PassTiles tiles{.pairs = {}, .backend = backend.name};
  for (const TilePair& pair : tile_pairs(backend, rank, *setting.head_dim, walk)) {
    if ((q_tile.empty() || pair.q_tile == q_tile) && (kv_tile.empty() || pair.kv_tile == kv_tile))
      tiles.pairs.push_back(pair);
  }
  if (tiles.pairs.empty()) (void)choose_tiles(setting, catalog, q_tile, kv_tile, rank, walk);  // says why
  return tiles;
}

void set_tiles(const Catalog& catalog, SearchAnswer& answer, SearchSpace& space) {
  const SearchQuestion& question = answer.question;
  if (!question.tiles.empty()) {
    space.tiles = question.tiles;
    return;
  }
  if (!question.kernels.empty()) {
    TilesOfKernels tiles = tiles_of_kernels(question, catalog);
    space.tiles = std::move(tiles.choices);
    answer.left_out = std::move(tiles.left_out);
    return;
  }
  const bool no_backward_pass = effective_backend(question.setting, catalog).backward.empty();
  if (space.phase != SearchPhase::kForward && no_backward_pass) {  // FlexAttention: the forward pass' blocks
    const PassTiles tiles = tiles_of_pass(question, catalog, Walk::kForward, answer);
    for (const TilePair& pair : tiles.pairs) {
      space.tiles.push_back({tiles.backend, pair, pair});
      if (space.phase == SearchPhase::kBackward) space.tiles.back().tiles = {};
    }
    return;
  }
  PassTiles forward{.pairs = {TilePair{}}, .backend = ""}, backward = forward;
  if (has_pass(space.phase, Walk::kForward))
    forward = tiles_of_pass(question, catalog, Walk::kForward, answer);
  if (has_pass(space.phase, Walk::kBackward))
    backward = tiles_of_pass(question, catalog, Walk::kBackward, answer);
  const bool known = space.phase != SearchPhase::kBoth || forward.backend == backward.backend;
  const std::string& name = has_pass(space.phase, Walk::kForward) ? forward.backend : backward.backend;
  for (const TilePair& first : forward.pairs) {
    for (const TilePair& second : backward.pairs) space.tiles.push_back({known ? name : "", first, second});
  }
}

/// The kernel that all tile choices are for, on its own grid.
std::optional<NattenBackend> ranked_kernel(const SearchSpace& space) {
  if (space.tiles.empty() || space.input.rank() > 3) return std::nullopt;
  const std::string& name = space.tiles.front().backend;
  const bool same = std::all_of(space.tiles.begin(), space.tiles.end(),
                                [&](const TileChoice& choice) { return choice.backend == name; });
  for (const NattenBackend kernel : values_of<NattenBackend>()) {
    if (same && name == to_string(kernel) && space.kv_tiling == streamed_tiling(kernel, Walk::kForward) &&
        space.backward_kv_tiling == streamed_tiling(kernel, Walk::kBackward))
      return kernel;
  }
  return std::nullopt;
}

/// Forward 2 (d + dv) FLOPs a token pair, backward 2 (3 d + 2 dv), as in flops().
PassWeights weights_of(const Setting& setting) {
  const std::int64_t d = *setting.head_dim, dv = *setting.head_dim_value;
  const std::int64_t common = std::gcd(d + dv, 3 * d + 2 * dv);
  return {(d + dv) / common, (3 * d + 2 * dv) / common};
}

void resolve_objective(const SearchSpace& space, SearchQuestion& question) {
  const bool ladder = question.kind == SearchKind::kLadder;
  if (!question.objective)
    question.objective = ladder || space.tiles.size() == 1 ? Objective::kWorst : Objective::kWork;
  if (row_of(*question.objective).needs_share && space.phase != SearchPhase::kForward) {
    throw InvalidParameter("objective", natten_sim::to_string(*question.objective),
                           "with the forward phase: the share is that of inference", "work");
  }
  if (row_of(*question.objective).needs_share && !question.setting.attention_share) {
    throw InvalidParameter("objective", natten_sim::to_string(*question.objective),
                           "together with " + mention("attention-share") +
                               " or a preset that has one; else work, worst, mean or flop");
  }
  if (ladder && question.objective != Objective::kWorst) {
    throw InvalidParameter("objective", natten_sim::to_string(*question.objective),
                           "worst for " + mention("ladder") + ": a ladder is over worst-case speedups");
  }
}

void resolve_constraints(const SearchSpace& space, bool free_windows, SearchAnswer& answer) {
  SearchQuestion& question = answer.question;
  if (question.setting.preset && free_windows && !question.constraints.max_imbalance) {
    question.constraints.max_imbalance = kPresetMaxImbalance;
    answer.imbalance_defaulted = true;
  }
  if (question.kind != SearchKind::kBest) {
    question.top.reset();
    question.distinct.reset();
    return;
  }
  question.top = question.top.value_or(kDefaultTop);
  question.distinct = question.distinct.value_or(fixed_windows(space) ? Distinct::kTiles : Distinct::kWindow);
}

}  // namespace

SearchSpace space_of(const Catalog& catalog, SearchAnswer& answer) {
  SearchQuestion& question = answer.question;
  Setting& setting = question.setting;
  if (setting.input.empty())
    throw InvalidParameter("input", "none",
                           mention("input") + " with one size an axis, or " + mention("preset"));
  SearchSpace space = full_space(setting.input, question.dilation);
  if (!question.causal.empty())
    space.causal =
        causal_of(make_mask(setting.input, Extents(setting.input.rank(), 1), {}, {}, question.causal));
  const NeighborhoodMask whole = make_mask(setting.input, Extents(setting.input.rank(), 1), {}, space.dilation,
                                           space.causal, question.cyclic);
  space.cyclic = cyclic_of(whole);
  const bool free_windows =
      question.window.empty() && question.window_range.empty() && question.dense_axes.empty();
  if (!setting.backend && question.tiles.empty() && !question.any) {
    const std::optional<std::string> backend = backend_with_tiles(question, catalog);
    if (backend && *backend != kDefaultBackend) setting.backend = backend;
  }
  space.phase = question.phase;
  space.weights = weights_of(setting);
  space.kv_tiling = asks_cycle(question.cyclic) ? question.kv_tiling.value_or(KvTiling::kStatic)
                                                : effective_kv_tiling(question.kv_tiling, setting, catalog);
  // The backward kernels of all backends stream Q tiles on a grid.
  space.backward_kv_tiling = question.kv_tiling && question.phase == SearchPhase::kBackward
                                 ? *question.kv_tiling
                                 : KvTiling::kStatic;
  set_windows(question, space);
  if (question.kind == SearchKind::kLadder && question.window.empty() && !fixed_windows(space))
    throw InvalidParameter("window", "none", "one fixed " + mention("window") + " for " + mention("ladder"));
  set_strides(question, space);
  set_tiles(catalog, answer, space);
  resolve_objective(space, question);
  resolve_constraints(space, free_windows, answer);
  space.kernel = ranked_kernel(space);
  question.window_range = space.window;
  question.stride_range = space.stride;
  question.dilation = space.dilation;
  question.causal = space.causal;
  if (has_cycle(whole)) question.cyclic = space.cyclic;
  question.kv_tiling = question.phase == SearchPhase::kBackward ? space.backward_kv_tiling : space.kv_tiling;
  question.tiles = space.tiles;
  return space;
}

}  // namespace natten_sim::study

#include <algorithm>
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/search/windows/count.hpp>
#include <natten_sim/study/cell_costs.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/estimate.hpp>
#include <natten_sim/study/kernel_choice.hpp>

#include "count_time.hpp"
#include "cycle_copies.hpp"
#include "dense_sequence.hpp"
#include "fast_path_change.hpp"
#include "flex_blocks.hpp"
#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

/// The whole of every axis, or of each of its dilation groups.
Extents dense_window(const Extents& input, const Extents& dilation) {
  const Extents dilations = dilation_of(make_mask(input, Extents(input.rank(), 1), {}, dilation));
  Extents window;
  for (std::size_t axis = 0; axis < input.rank(); ++axis) window.push_back(input[axis] / dilations[axis]);
  return window;
}

/// Who names a kernel of others asks nothing of NATTEN, unless by the backend of another family.
bool speaks_of_natten(const CountQuestion& question) {
  if (!question.kernel || natten_runs(*question.kernel)) return true;
  const std::optional<std::string>& backend = question.setting.backend;
  return backend && *backend != to_string(NattenBackend::kFlexFna);
}

std::size_t tile_rank(const TilingProblem& problem) {
  return problem.tiling == Tiling::kSingleDimensional ? 1 : problem.mask.rank();
}

/// FlexAttention runs the backward pass with the blocks of the forward one, a kernel file may have others.
TilePair backward_tiles(const CountQuestion& question, const TilingProblem& forward, const Catalog& catalog) {
  const bool open = question.backward_q_tile.empty() && question.backward_kv_tile.empty();
  if (open && question.kernel && question.kernel->own && question.kernel->own->backward) {
    TilingProblem problem = forward;
    problem.walk = Walk::kBackward;
    problem.tiles = {};
    const TimedKernel kernel = timed_kernel(*question.kernel, Device{}, catalog);
    return block_tiles(problem, block_tokens(kernel, question.setting, Walk::kBackward, catalog));
  }
  if (open && effective_backend(question.setting, catalog).backward.empty()) return forward.tiles;
  return choose_tiles(question.setting, catalog, question.backward_q_tile, question.backward_kv_tile,
                      tile_rank(forward), Walk::kBackward)
      .tiles;
}

TilingProblem backward_problem(const CountQuestion& question, const TilingProblem& forward,
                               const Catalog& catalog) {
  TilingProblem problem = forward;
  problem.walk = Walk::kBackward;
  problem.kv_tiling = question.backward_q_tiling.value_or(kDefaultBackwardQTiling);
  problem.tiles = backward_tiles(question, forward, catalog);
  return problem;
}

BackwardCount backward_count(const TilingProblem& problem, const TileCount& count, const Setting& setting) {
  const Workload workload = workload_of(setting);
  BackwardCount backward{.problem = problem, .count = count};
  backward.flops = flops_that_fit(count, workload);
  backward.approximate_mma_flops = approximate_mma_flops(count, workload);
  return backward;
}

/// blackwell-fna takes fp8 forward alone.
void require_backward_dtype(const Setting& setting, const Context& context) {
  if (!setting.backend || context.catalog.natten.empty()) return;
  for (const NattenBackendRules& rules : context.catalog.natten_release(setting.natten).backends) {
    if (*setting.backend != to_string(rules.backend)) continue;
    if (std::find(rules.dtypes.begin(), rules.dtypes.end(), *setting.dtype) != rules.dtypes.end()) continue;
    std::vector<std::string> accepted;
    for (const Dtype dtype : rules.dtypes) accepted.emplace_back(to_string(dtype));
    throw InvalidParameter("dtype", to_string(*setting.dtype),
                           joined(accepted) + " (" + *setting.backend + " with a backward pass)",
                           accepted.front());
  }
}

/// What the question left out, from what it was taken to mean.
void fill_in(const TilingProblem& problem, CountQuestion& question) {
  question.window = window_of(problem.mask);
  question.stride = stride_of(problem.mask);
  question.dilation = dilation_of(problem.mask);
  question.causal = causal_of(problem.mask);
  if (has_cycle(problem.mask)) question.cyclic = cyclic_of(problem.mask);
  question.q_tile = problem.tiles.q_tile;
  question.kv_tile = problem.tiles.kv_tile;
  question.kv_tiling = problem.kv_tiling;
}

/// Blocks of a kernel that is not NATTEN's may have any shape.
ChosenTiles chosen_tiles(const CountQuestion& question, bool of_natten, const TilingProblem& problem,
                         const Catalog& catalog) {
  const Setting& setting = question.setting;
  if (!of_natten && (question.q_tile.empty() || question.kv_tile.empty())) {
    TilingProblem open = problem;
    open.tiles = {question.q_tile, question.kv_tile};
    const Device device = setting.device ? catalog.device(*setting.device) : Device{};
    const TimedKernel kernel = timed_kernel(*question.kernel, device, catalog);
    return {block_tiles(open, block_tokens(kernel, setting, Walk::kForward, catalog)), setting.backend, true};
  }
  return choose_tiles(setting, catalog, question.q_tile, question.kv_tile, tile_rank(problem),
                      Walk::kForward);
}

/// The tile pairs with which NATTEN accepts the call, in the order of its table.
std::vector<TilePair> accepted_pairs(NattenCall call, const NattenRules& rules) {
  call.kernel_schedule.clear();
  std::vector<TilePair> pairs;
  for (const BackendTiles& entry : rules.of(call.backend.value()).forward) {
    if (std::find(pairs.begin(), pairs.end(), entry.tiles) != pairs.end()) continue;
    call.tiles = entry.tiles;
    if (!refusal_of(rules, call)) pairs.push_back(entry.tiles);
  }
  return pairs;
}

/// The question with the kernel that has cyclic axes, unless it names a backend for its tiles.
CountQuestion with_kernel(CountQuestion question) {
  if (!asks_cycle(question.cyclic)) return question;
  if (question.kernel) require_cyclic_kernel(*question.kernel);
  if (!question.setting.backend) question.kernel = kCyclicKernel;
  return question;
}

/// The same attention without cyclic axes, by NATTEN: on a device with its own tiles, else with the same.
CountQuestion padded_question(CountQuestion question, const NeighborhoodMask& mask, const TilePair& tiles) {
  question.cyclic = {};
  question.kernel = std::nullopt;
  question.kv_tiling = std::nullopt;
  question.setting.input = {};
  for (const AxisMask& axis : mask) {
    const AxisPadding padding = cycle_padding(axis);
    question.setting.input.push_back(padding.before + axis.length + padding.after);
  }
  question.window = window_of(mask);
  std::optional<std::string>& backend = question.setting.backend;
  if (backend == to_string(NattenBackend::kFlexFna)) backend = std::nullopt;  // that of the cyclic kernel
  const bool own_tiles =
      question.tiling == Tiling::kSingleDimensional || (question.setting.device && !backend);
  question.tiling = Tiling::kMultiDimensional;
  question.q_tile = own_tiles ? Extents{} : tiles.q_tile;
  question.kv_tile = own_tiles ? Extents{} : tiles.kv_tile;
  if (own_tiles) question.backward_q_tile = question.backward_kv_tile = {};
  return question;
}

bool asks_backward(const CountQuestion& question) {
  return question.backward || !question.backward_q_tile.empty() || !question.backward_kv_tile.empty() ||
         question.backward_q_tiling.has_value();
}

/// With a window over the input NATTEN runs a dense kernel, whatever backend is named. For one that lacks the head dims
/// or the type: the backend that NATTEN would choose, which has tiles to count. None: the named one has tiles.
std::optional<std::string> backend_in_place(const CountQuestion& question, const Context& context) {
  if (!question.setting.backend || question.kernel || context.catalog.natten.empty()) return std::nullopt;
  Setting setting = question.setting;
  setting.device = setting.backend = std::nullopt;
  setting = resolved(setting, context.catalog);
  if (setting.input.empty() || !(question.window.empty() || question.window == setting.input)) return std::nullopt;
  const Backend& named = context.catalog.backend(*question.setting.backend);
  setting.backend = named.name;
  setting.device = question.setting.device;
  TilingProblem dense;
  dense.mask = make_mask(setting.input, dense_window(setting.input, question.dilation), question.stride,
                         question.dilation, question.causal, question.cyclic);
  dense.kv_tiling = named.kv_tiling;
  std::optional<NattenCall> call = natten_call_of(setting, dense, nullptr, context);
  if (!call || !takes_dense_path(call->input, call->window, call->causal, call->additional_keys > 0)) return std::nullopt;
  call->requires_grad = asks_backward(question);
  setting.device = std::nullopt;  // then a call is on a device that the backend is made for
  setting.deterministic = false;
  NattenCall by_named = natten_call_of(setting, dense, nullptr, context).value();
  by_named.requires_grad = call->requires_grad;
  const NattenRules& rules = context.catalog.natten_release(setting.natten);
  if (!backend_refusal(rules, by_named)) return std::nullopt;
  const BackendChoice choice = choose_backend(rules, *call);
  return choice.refusal ? std::nullopt : std::optional<std::string>(to_string(choice.backend));
}

/// What is counted, before it is: its problem, and the question with every default.
struct Prepared {
  CountQuestion full;
  std::optional<std::string> in_place;
  bool window_defaulted = false;
  bool sequence = false;  ///< a kernel of a library, or this project's on sequences
  TilingProblem problem;
  ChosenTiles chosen;
};

/// Of a dense kernel's tiles nothing is open.
void take_dense(const TimedKernel& kernel, const Catalog& catalog, Prepared& known) {
  require_dense_mask(kernel.name, known.problem.mask);
  if (!known.sequence) return;
  CountQuestion& full = known.full;
  known.chosen.defaulted = full.q_tile.empty() || full.kv_tile.empty();
  take_sequence(kernel, catalog, full);
  known.problem.mask = make_mask(full.setting.input, full.window, full.stride, full.dilation, full.causal);
  known.chosen.tiles = {full.q_tile, full.kv_tile};
}

Prepared prepared(const CountQuestion& asked, const Context& context) {
  Prepared known{.full = with_kernel(asked)};
  CountQuestion& full = known.full;
  known.in_place = backend_in_place(full, context);
  if (known.in_place) full.setting.backend = known.in_place;
  full.backward = asks_backward(full);
  const std::optional<TimedKernel> dense = named_dense_kernel(full, context.catalog);
  known.sequence = dense && dense->library;
  full.setting = known.sequence ? setting_of_sequence(full, context.catalog)
                                : resolved(setting_of_kernel(full, context.catalog), context.catalog, full.backward);
  if (full.setting.input.empty())
    throw InvalidParameter("input", "none",
                           mention("input") + " with one size an axis, or " + mention("preset"));
  known.window_defaulted = full.window.empty();
  const Extents window = known.window_defaulted ? dense_window(full.setting.input, full.dilation) : full.window;
  TilingProblem& problem = known.problem;
  problem.mask = make_mask(full.setting.input, window, full.stride, full.dilation, full.causal, full.cyclic);
  problem.tiling = full.tiling;
  problem.kv_tiling = asks_cycle(full.cyclic) ? full.kv_tiling.value_or(KvTiling::kStatic)
                                              : effective_kv_tiling(full.kv_tiling, full.setting, context.catalog);
  if (dense) take_dense(*dense, context.catalog, known);
  if (!known.sequence) known.chosen = chosen_tiles(full, speaks_of_natten(full), problem, context.catalog);
  problem.tiles = known.chosen.tiles;
  return known;
}

void add_ways_around(const CountQuestion& asked, const Setting& full, const Context& context, AxisCountMemo* memo,
                     CountAnswer& answer);

CountAnswer answer_of(const CountQuestion& asked, const Context& given, AxisCountMemo* memo) {
  const WithKernels kernels(given, asked.kernel);
  const Context& context = kernels.get();
  CountAnswer answer;
  const Prepared known = prepared(asked, context);
  CountQuestion& full = answer.question = known.full;
  const std::optional<std::string>& in_place = known.in_place;
  const TilingProblem& problem = known.problem;
  const ChosenTiles& chosen = known.chosen;
  answer.window_defaulted = known.window_defaulted;
  answer.tiles_defaulted = chosen.defaulted;
  const CountByAxes forward = count_by_axes(problem, context.progress, memo);
  CountByAxes backward;
  answer.forward = counted_tiles(problem, forward.count, full.setting);
  if (full.backward) {
    require_backward_dtype(full.setting, context);
    const TilingProblem walked_back = backward_problem(full, problem, context.catalog);
    backward = count_by_axes(walked_back, context.progress, memo);
    answer.backward = backward_count(walked_back, backward.count, full.setting);
    full.backward_q_tile = answer.backward->problem.tiles.q_tile;
    full.backward_kv_tile = answer.backward->problem.tiles.kv_tile;
    full.backward_q_tiling = answer.backward->problem.kv_tiling;
  }
  if (speaks_of_natten(known.full) && !known.sequence)
    answer.kernel = kernel_answer({.setting = full.setting,
                                   .forward = problem,
                                   .forward_count = answer.forward.count,
                                   .backward = answer.backward ? &answer.backward->problem : nullptr,
                                   .backward_count = answer.backward ? &answer.backward->count : nullptr,
                                   .forward_axes = forward.axes,
                                   .backward_axes = backward.axes},
                                  context);
  if (in_place) answer.kernel.unused_backend = parse_name<NattenBackend>(context.catalog.backend(*asked.setting.backend).name);
  if (const auto& kernel = answer.kernel.forward;
      kernel && !kernel->dense_path && kernel->attention.family != NattenBackend::kFlexFna)
    answer.fast_path_change = fast_path_change(
        problem, accepted_pairs(*answer.kernel.call, context.catalog.natten_release(full.setting.natten)));
  if (full.kernel || full.setting.device) add_times(full, problem, context, answer);
  fill_in(problem, full);
  if (has_cycle(problem.mask)) add_ways_around(asked, full.setting, context, memo, answer);
  if (full.setting.preset) answer.preset = context.catalog.preset(*full.setting.preset);
  answer.chosen_backend = full.setting.backend;
  answer.implemented_by = chosen.backend;
  if (in_place) full.setting.backend = context.catalog.backend(*asked.setting.backend).name;
  return answer;
}

/// Of a cyclic axis: what NATTEN runs in its place, and the copies around both.
void add_ways_around(const CountQuestion& asked, const Setting& full, const Context& context, AxisCountMemo* memo,
                     CountAnswer& answer) {
  const NeighborhoodMask& mask = answer.forward.problem.mask;
  const TilePair& tiles = answer.forward.problem.tiles;
  answer.cycle_copies = cycle_copies(full, mask, tiles, context);
  answer.padded = std::make_shared<CountAnswer>(answer_of(padded_question(asked, mask, tiles), context, memo));
}

struct WalkCost {
  double steps = 0, bytes = 0;
};

/// Tiles that hold tokens of several rows: each walked tile meets as many rows of the layout as the leading axes' windows
/// have, once for each row that it lies in.
WalkCost cost_of_runs(const TilingProblem& problem, Walk walk) {
  const NeighborhoodMask& mask = problem.mask;
  const TilePair& tiles = problem.tiles;
  const std::size_t last = mask.rank() - 1;
  const bool forward = walk == Walk::kForward;
  const auto tokens = static_cast<double>(product(input_of(mask), "tokens")), row = static_cast<double>(mask[last].length);
  const auto walked = static_cast<double>((forward ? tiles.q_tile : tiles.kv_tile)[0]);
  const auto streamed = static_cast<double>((forward ? tiles.kv_tile : tiles.q_tile)[0]);
  double rows = 1, axes = 0;
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
    if (axis != last) rows *= static_cast<double>(attended_pairs(mask[axis])) / static_cast<double>(mask[axis].length);
    axes += static_cast<double>(mask[axis].length);
  }
  const double runs = std::max(1.0, walked / row), all = std::ceil(tokens / walked);
  constexpr double kOfToken = 48, kOfTile = 8;
  const double width = std::min(row, static_cast<double>(mask[last].window) + walked);
  return {all * (1 + runs * rows) + axes, kOfToken * axes + kOfTile * (tokens / streamed + 2 * runs * width)};
}

/// Costs of a kernel's pass for the question's device, head dim and type; none: nobody knows any.
std::optional<PassCosts> costs_of_pass(const CountQuestion& full, const TimedKernel& kernel, Walk walk, const Context& context) {
  const Setting& setting = full.setting;
  const auto found = costs_of_cell({kernel.name, *setting.device, *setting.head_dim, *setting.dtype, walk, {}, {}}, context.catalog);
  const auto* costs = std::get_if<KernelCosts>(&found);
  const PassCosts* pass = costs == nullptr ? nullptr : costs->costs_of(walk);
  return pass == nullptr ? std::nullopt : std::optional(*pass);
}

/// Of a launch whose CTAs are listed to be simulated: those of one head, and the queries of each key before them.
WalkCost cost_of_list(const Setting& setting, const std::optional<PassCosts>& pass, double ctas, double keys) {
  const auto repeats = static_cast<double>(setting.batch * setting.heads.value_or(1));
  if (ctas * repeats > static_cast<double>(kMostSimulated)) return {};
  constexpr double kOfCta = 40, kOfKey = 16;
  const bool shares_sms = pass && pass->ctas_per_sm > 1 && pass->lone_share > 0;  // then each is run by itself
  return {ctas + keys + (shares_sms ? ctas : 1) * repeats, kOfCta * ctas + kOfKey * keys};
}

/// The causal kernels that a window on one causal axis is compared with.
WalkCost cost_of_dense(const CountQuestion& full, const TimedKernel& kernel, std::int64_t length, Walk walk, const Context& context) {
  WalkCost all;
  for (const TimedKernel& dense : dense_kernels(kernel, context.catalog.device(*full.setting.device))) {
    const std::optional<PassCosts> pass = costs_of_pass(full, dense, walk, context);
    if (!pass || dense.family == NattenBackend::kCutlassFna) continue;
    const std::int64_t tile = walk == Walk::kForward ? pass->q_tile_tokens : pass->kv_tile_tokens;
    const auto keys = walk == Walk::kBackward ? static_cast<double>(length) : 0;
    const WalkCost cost = cost_of_list(full.setting, pass, static_cast<double>(ceil_divide(length, tile)), keys);
    all = {all.steps + cost.steps, std::max(all.bytes, cost.bytes)};
  }
  return all;
}

WalkCost cost_of_ctas(const CountQuestion& full, const TilingProblem& problem, Walk walk, const Context& context) {
  const Setting& setting = full.setting;
  if (!setting.device || (!setting.backend && !full.kernel)) return {};
  const std::string name = full.kernel ? full.kernel->name : *setting.backend;
  const TimedKernel kernel = timed_kernel(name, context.catalog.device(*setting.device), context.catalog);
  const bool causal = problem.mask.rank() == 1 && problem.mask[0].causal;
  WalkCost dense;
  if (causal && !kernel.dense) dense = cost_of_dense(full, kernel, problem.mask[0].length, walk, context);
  if (kernel.family == NattenBackend::kCutlassFna || (kernel.dense && !causal)) return dense;
  double ctas = 1, keys = 0;
  for (std::size_t axis = 0; axis < problem.mask.rank(); ++axis) {
    const auto length = static_cast<double>(problem.mask[axis].length);
    const Extents& tile = walk == Walk::kForward ? problem.tiles.q_tile : problem.tiles.kv_tile;
    ctas *= std::ceil(length / static_cast<double>(tile[axis]));
    if (walk == Walk::kBackward) keys += length;
  }
  const bool flex_backward = walk == Walk::kBackward && kernel.family == NattenBackend::kFlexFna && kernel.own == nullptr;
  const WalkCost cost = cost_of_list(setting, costs_of_pass(full, kernel, walk, context), ctas, keys);
  return {cost.steps + (flex_backward && cost.steps > 0 ? ctas : 0) + dense.steps, std::max(cost.bytes, dense.bytes)};
}

}  // namespace

Estimate estimate(const CountQuestion& question, const Context& given) {
  const WithKernels kernels(given, question.kernel);
  const Context& context = kernels.get();
  const Prepared known = prepared(question, context);
  Estimate estimate{.option = "input", .value = to_string(known.full.setting.input)};
  const auto add = [&](const TilingProblem& problem, Walk walk) {
    const bool across_rows = problem.tiling == Tiling::kSingleDimensional && problem.mask.rank() > 1;
    const WalkCost cost = across_rows ? cost_of_runs(problem, walk) : cost_of_ctas(known.full, problem, walk, context);
    estimate.steps += cost.steps;
    estimate.bytes = std::max(estimate.bytes, cost.bytes);
  };
  add(known.problem, Walk::kForward);
  if (known.full.backward) add(backward_problem(known.full, known.problem, context.catalog), Walk::kBackward);
  return estimate;
}

CountAnswer count(const CountQuestion& question, const Context& context) {
  return answer_of(question, context, nullptr);
}

CountAnswer count_with_memo(const CountQuestion& question, const Context& context, AxisCountMemo& memo) {
  return answer_of(question, context, &memo);
}

}  // namespace natten_sim::study

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/prior_fit.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/study/calibration_plan.hpp>
#include <natten_sim/study/cell_costs.hpp>

#include "calibrated_copies.hpp"
#include "copies.hpp"
#include "flex_blocks.hpp"
#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

/// The waves of a run depend on how long its CTAs are against each other: fitted costs tell them better than
/// the first guess, and again.
constexpr int kRounds = 3;

/// Costs that only say how long CTAs are against each other, for the waves of a run before any fit.
PassCosts relative_costs(const KernelRun& run) {
  PassCosts costs;
  costs.pass = run.pass;
  costs.q_tile_tokens = product(run.q_tile, "q_tile");
  costs.kv_tile_tokens = product(run.kv_tile, "kv_tile");
  costs.unmasked_tile_us = 1;
  costs.bounds_masked_tile_us = 1.25;
  costs.masked_tile_us = {1.5, 1.5, 1.5};
  costs.cta_us = 2;
  return costs;
}

/// The kernel's, which no time tells: among the priors, but not fitted.
double constant_of(const std::vector<CostPrior>& priors, const char* name, double absent) {
  const auto found =
      std::find_if(priors.begin(), priors.end(), [&](const CostPrior& prior) { return prior.name == name; });
  return found == priors.end() ? absent : found->value;
}

/// What no fit changes. A `lone_share` of the kernel's is none that was fitted.
void keep_constants(const PassCosts& from, PassCosts& costs) {
  costs.pass = from.pass;
  costs.q_tile_tokens = from.q_tile_tokens;
  costs.kv_tile_tokens = from.kv_tile_tokens;
  costs.ctas_per_sm = from.ctas_per_sm;
  if (from.lone_share > 0) costs.lone_share = from.lone_share;
  costs.causal_ctas_per_sm = from.causal_ctas_per_sm;
  if (costs.causal_two_axes == 1) costs.causal_two_axes = from.causal_two_axes;  // of no run
}

std::int64_t tokens_of(const Extents& tile) { return product(tile, "tile"); }

/// Those with tiles of another size are another kernel, compiled for these, of cutlass-fna and cutlass-fmha.
bool same_pass(const KernelRun& a, const KernelRun& b) {
  const bool same_tiles = tokens_of(a.q_tile) == tokens_of(b.q_tile) && tokens_of(a.kv_tile) == tokens_of(b.kv_tile);
  return a.kernel == b.kernel && a.device == b.device && a.head_dim == b.head_dim && a.pass == b.pass &&
         element_bytes(a.dtype) == element_bytes(b.dtype) && (same_tiles || !a.kernel.starts_with("cutlass-"));
}

/// CTAs that an SM holds at once: those that the kernel states, or its warps there over those of a CTA, one for each
/// 32 x 32 of a pair.
std::int64_t ctas_per_sm(const std::vector<CostPrior>& priors, const PassCosts& costs) {
  constexpr std::int64_t kPairsOfWarp = 32 * 32;
  const std::int64_t warps = std::llround(constant_of(priors, "warps_per_sm", 0));
  if (warps == 0) return std::llround(constant_of(priors, "ctas_per_sm", 1));
  return std::max<std::int64_t>(1, warps * kPairsOfWarp / (costs.q_tile_tokens * costs.kv_tile_tokens));
}

std::string kind_of(const LaunchWork& work) {
  if (work.masked_tiles > 0.5 * work.tiles()) return "masked " + std::to_string(work.axes) + "-D";
  return work.bounds_masked_tiles > 0.5 * work.tiles() ? "bounds-masked" : "unmasked";
}

void require_one_tile_size(const std::vector<KernelRun>& runs) {
  for (const KernelRun& run : runs) {
    if (tokens_of(run.q_tile) == tokens_of(runs[0].q_tile) && tokens_of(run.kv_tile) == tokens_of(runs[0].kv_tile))
      continue;
    throw InvalidParameter(
        "runs", run.kernel + " with tiles " + to_string(run.q_tile) + " and " + to_string(run.kv_tile),
        "tiles of " + std::to_string(tokens_of(runs[0].q_tile)) + " and " +
            std::to_string(tokens_of(runs[0].kv_tile)) + " tokens, as the first run of this pass");
  }
}

/// Runs after other rests are of the same problem.
std::string key_of_problem(KernelRun run) {
  run.rest_ms = std::nullopt;
  return key_of_run(run);
}

MeasuredLaunch launch_of_run(const KernelRun& run, const PassCosts& costs, const Context& context) {
  if (!run.ms)
    throw InvalidParameter("runs", run.kernel + " on " + to_string(run.input) + " without a time",
                           "a time for every run");
  MeasuredLaunch launch;
  launch.work = work_of(time_question(run), costs, context);
  launch.ms = *run.ms;
  launch.rest_ms = run.rest_ms;
  launch.problem = key_of_problem(run);
  if (run.min_ms && run.max_ms) launch.spread = std::max(0.0, *run.max_ms - *run.min_ms) / *run.ms;
  return launch;
}

/// Sequences of as many tokens as the preset's layout, without a mask and causal.
void add_dense(const Preset& preset, KernelRun run, std::vector<KernelRun>& candidates) {
  run.input = run.window = {product(preset.layout, "tokens")};
  for (const bool causal : {false, true}) {
    run.causal = PerAxis<bool>(1, causal);
    candidates.push_back(run);
  }
}

/// The backend's tile pairs for the layout that have as many tokens as those of `like`.
std::vector<TilePair> pairs_like(const KernelRun& like, const Backend& backend, std::size_t rank) {
  // FlexAttention runs a backward pass with the blocks of the forward one.
  const bool forward = like.pass == Walk::kForward || backend.backward.empty();
  std::vector<TilePair> pairs;
  for (const BackendTiles& entry : forward ? backend.forward : backend.backward) {
    if (entry.tiles.q_tile.rank() == rank && (!entry.head_dim || *entry.head_dim == like.head_dim) &&
        product(entry.tiles.q_tile, "q_tile") == product(like.q_tile, "q_tile") &&
        product(entry.tiles.kv_tile, "kv_tile") == product(like.kv_tile, "kv_tile") &&
        std::find(pairs.begin(), pairs.end(), entry.tiles) == pairs.end())
      pairs.push_back(entry.tiles);
  }
  return pairs;
}

/// FlexAttention's blocks of any shape: those of as many tokens that suit the preset's first window.
std::vector<TilePair> blocks_like(const KernelRun& like, const Preset& preset) {
  if (preset.windows.empty()) return {};
  TilingProblem open;
  for (std::size_t axis = 0; axis < preset.layout.rank(); ++axis)
    open.mask.push_back({preset.layout[axis], preset.windows.front().window[axis], 1, 1, false});
  return {block_tiles(open, {product(like.q_tile, "q_tile"), product(like.kv_tile, "kv_tile")})};
}

/// Published windows of the preset, at their first and last stride.
void add_windows(const Preset& preset, KernelRun run, const std::vector<TilePair>& pairs,
                 std::vector<KernelRun>& candidates) {
  run.input = preset.layout;
  for (const PublishedWindow& published : preset.windows) {
    if (!published.dilation.empty() || published.strides.empty()) continue;
    for (const TilePair& pair : pairs) {
      run.window = published.window;
      run.q_tile = pair.q_tile;
      run.kv_tile = pair.kv_tile;
      for (const Extents& stride : {published.strides.front(), published.strides.back()}) {
        run.stride = stride;
        candidates.push_back(run);
      }
    }
  }
}

/// Of all presets, with their heads and with one.
std::vector<KernelRun> candidate_runs(const KernelRun& like, const Context& context) {
  std::vector<KernelRun> candidates;
  const TimedKernel kernel = timed_kernel(like.kernel, context.catalog.device(like.device), context.catalog);
  KernelRun run = like;
  run.batch = 1;
  run.dilation = run.stride = {};
  run.causal = {};
  run.ms = run.min_ms = run.max_ms = run.rest_ms = std::nullopt;
  run.perm_q_ms = run.perm_kv_ms = run.unperm_o_ms = run.unperm_lse_ms = std::nullopt;
  for (const Preset& preset : context.catalog.presets) {
    if (preset.layout.rank() > 3) continue;
    for (const std::int64_t heads : {preset.heads, std::int64_t{1}}) {
      run.heads = heads;
      if (kernel.dense) {
        add_dense(preset, run, candidates);
      } else {
        const bool any_blocks = kernel.family == NattenBackend::kFlexFna;
        add_windows(preset, run,
                    any_blocks ? blocks_like(like, preset)
                               : pairs_like(like, context.catalog.backend(to_string(kernel.family)), preset.layout.rank()),
                    candidates);
      }
    }
  }
  return candidates;
}

/// Those of `candidates` that none of `measured` repeats.
std::vector<KernelRun> unmeasured(const std::vector<KernelRun>& candidates,
                                  const std::vector<KernelRun>& measured) {
  std::vector<KernelRun> left;
  for (const KernelRun& run : candidates) {
    const auto same = [&](const KernelRun& other) { return key_of_run(other) == key_of_run(run); };
    if (std::none_of(measured.begin(), measured.end(), same) && std::none_of(left.begin(), left.end(), same))
      left.push_back(run);
  }
  return left;
}

std::vector<SuggestedRun> suggest(const KernelRun& like, const std::vector<KernelRun>& measured, const CostFit& fit,
                                  const std::vector<CostPrior>& priors, std::size_t most, const Context& context) {
  if (most == 0) return {};
  constexpr double kShortest_ms = 0.1, kLongest_ms = 400;  // of a candidate: neither noise nor a long wait
  std::vector<KernelRun> candidates;
  std::vector<LaunchWork> works;
  for (const KernelRun& run : unmeasured(candidate_runs(like, context), measured)) {
    const LaunchWork work = work_of(time_question(run), fit.costs, context);
    const double ms = launch_time(work, fit.costs).total_ms;
    if (ms < kShortest_ms || ms > kLongest_ms) continue;
    candidates.push_back(run);
    works.push_back(work);
  }
  std::vector<SuggestedRun> suggestions;
  for (const SharpeningRun& chosen : sharpening_runs(fit, priors, works, most)) {
    suggestions.push_back({candidates[chosen.candidate],
                           launch_time(works[chosen.candidate], fit.costs).total_ms, chosen.uncertainty});
  }
  return suggestions;
}

bool is_causal(const KernelRun& run) { return std::ranges::any_of(run.causal, std::identity()); }

CalibratedPass calibrate_pass(const std::vector<KernelRun>& runs, std::vector<CostPrior> priors,
                              const CalibrateQuestion& question, const Context& context) {
  require_one_tile_size(runs);
  PassCosts relative = relative_costs(runs[0]);
  relative.ctas_per_sm = ctas_per_sm(priors, relative);
  relative.lone_share = constant_of(priors, "lone_share", 0);
  relative.causal_ctas_per_sm = std::llround(constant_of(priors, "causal_ctas_per_sm", 0));
  relative.causal_two_axes = constant_of(priors, "causal_two_axes", 1);
  if (std::ranges::none_of(runs, [](const KernelRun& run) { return run.causal.rank() == 2 && is_causal(run); }))
    std::erase_if(priors, [](const CostPrior& prior) { return prior.name == "causal_two_axes"; });
  std::vector<MeasuredLaunch> launches;
  CostFit fit;
  fit.costs = relative;
  for (int round = 0; round < kRounds; ++round) {
    PassCosts costs = fit.costs;
    keep_constants(relative, costs);
    launches.clear();
    for (const KernelRun& run : runs) launches.push_back(launch_of_run(run, costs, context));
    fit = fit_costs(launches, priors);
  }
  keep_constants(relative, fit.costs);
  fit.costs.evidence.source = question.source;
  CalibratedPass pass{.kernel = runs[0].kernel, .device = runs[0].device, .head_dim = runs[0].head_dim};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    pass.runs.push_back({runs[i], kind_of(launches[i].work), fit.predicted_ms[i], fit.left_out_ms[i]});
    fit.costs.evidence.fitted.push_back(key_of_run(runs[i]));
    std::vector<std::string>& kinds = fit.costs.evidence.kinds;
    if (std::find(kinds.begin(), kinds.end(), pass.runs.back().kind) == kinds.end())
      kinds.push_back(pass.runs.back().kind);
  }
  pass.suggestions = suggest(runs.front(), runs, fit, priors, question.suggestions, context);
  pass.costs = std::move(fit.costs);
  return pass;
}

/// How many times as large these priors expect a cost as others do; 1 where one of them expects nothing.
double ratio_of(const std::vector<CostPrior>& priors, const std::vector<CostPrior>& others, std::string_view name) {
  const auto here = std::ranges::find(priors, name, &CostPrior::name), there = std::ranges::find(others, name, &CostPrior::name);
  return here == priors.end() || there == others.end() ? 1 : here->value / there->value;
}

/// The power limit belongs to the device: where it slows the long runs of a kernel more or less than expected, so it is
/// expected of the others there. The prior is the geometric mean of what those show, each as much larger as more is
/// expected here; what the pass itself shows is not in it.
std::vector<CostPrior> priors_beside(const CalibratedPass& pass, const std::vector<CalibratedPass>& all,
                                     const Context& context) {
  const CostPriors& known = context.catalog.cost_priors;
  std::vector<CostPrior> priors = known.of(pass.costs.pass, pass.kernel, pass.head_dim);
  double slowdown = 0, slowdown_ms = 0;
  int others = 0;
  for (const CalibratedPass& other : all) {
    if (other.device != pass.device || other.head_dim != pass.head_dim || other.kernel == pass.kernel ||
        other.costs.pass != pass.costs.pass || !(other.costs.slowdown > 0))
      continue;
    const std::vector<CostPrior> its = known.of(other.costs.pass, other.kernel, other.head_dim);
    slowdown += std::log(other.costs.slowdown) + std::log(ratio_of(priors, its, "slowdown"));
    slowdown_ms += std::log(other.costs.slowdown_ms) + std::log(ratio_of(priors, its, "slowdown_ms"));
    ++others;
  }
  for (CostPrior& prior : priors) {
    if (others > 0 && prior.name == "slowdown") prior.value = std::exp(slowdown / others);
    if (others > 0 && prior.name == "slowdown_ms") prior.value = std::exp(slowdown_ms / others);
  }
  return priors;
}

KernelCosts& entry_of(const CalibratedPass& pass, const KernelRun& run, std::vector<KernelCosts>& entries) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const KernelCosts& entry) {
    return entry.kernel == pass.kernel && entry.device == pass.device && entry.head_dim == pass.head_dim &&
           element_bytes(entry.dtypes.front()) == element_bytes(run.dtype) && entry.costs_of(run.pass) == nullptr;
  });
  if (found != entries.end()) return *found;
  KernelCosts entry{.kernel = pass.kernel, .device = pass.device, .head_dim = pass.head_dim};
  // Types of one size share the tensor cores' rate and the bytes.
  for (const Dtype dtype : values_of<Dtype>()) {
    if (element_bytes(dtype) == element_bytes(run.dtype)) entry.dtypes.push_back(dtype);
  }
  entries.push_back(std::move(entry));
  return entries.back();
}

}  // namespace

TimeQuestion time_question(const KernelRun& run) {
  TimeQuestion question{.kernel = run.kernel, .device = run.device, .schedule = run.schedule};
  question.mask = make_mask(run.input, run.window, run.stride, run.dilation, run.causal);
  question.tiles = {run.q_tile, run.kv_tile};
  question.pass = run.pass;
  question.sizes = {.batch = run.batch,
                    .heads = run.heads,
                    .heads_kv = run.heads_kv > 0 ? run.heads_kv : run.heads,
                    .head_dim = run.head_dim,
                    .head_dim_value = run.head_dim,
                    .element_bytes = element_bytes(run.dtype)};
  question.dtype = run.dtype;
  question.rest_ms = run.rest_ms;
  return question;
}

CalibrateAnswer calibrate(const CalibrateQuestion& question, const Context& context) {
  if (question.runs.empty()) throw InvalidParameter("runs", "0", "1 measured run or more");
  std::vector<std::vector<KernelRun>> groups;
  for (KernelRun run : question.runs) {
    const Device& device = context.catalog.device(run.device);
    run.kernel = timed_kernel(run.kernel, device, context.catalog).name;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<KernelRun>& runs) {
      return same_pass(runs.front(), run);
    });
    if (group == groups.end()) {
      groups.push_back({run});
    } else {
      group->push_back(run);
    }
  }
  std::vector<CalibratedPass> alone;
  CalibrateQuestion fit_only = question;
  fit_only.suggestions = 0;
  for (const std::vector<KernelRun>& runs : groups) {
    alone.push_back(calibrate_pass(
        runs, context.catalog.cost_priors.of(runs[0].pass, runs[0].kernel, runs[0].head_dim), fit_only,
        context));
  }
  CalibrateAnswer answer;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<KernelRun>& runs = groups[i];
    answer.passes.push_back(calibrate_pass(runs, priors_beside(alone[i], alone, context), question, context));
    KernelCosts& entry = entry_of(answer.passes.back(), runs.front(), answer.entries);
    entry.passes.push_back(answer.passes.back().costs);
    for (PermutationRate& rate :
         calibrated_copy_rates(runs, copy_launch_us(context.catalog), question.source, context))
      entry.permutation.push_back(std::move(rate));
  }
  for (KernelCosts& entry : answer.entries) keep_copy_rates(context.catalog, entry);
  return answer;
}

CalibrateAnswer plan_calibration(const CalibrationPlanQuestion& question, const Context& context) {
  const Device& device = context.catalog.device(question.device);
  const std::string kernel = timed_kernel(question.kernel, device, context.catalog).name;
  CalibrateAnswer plan;
  std::string reason;
  for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
    const CostCell cell{kernel, device.name, question.head_dim, question.dtype, pass, std::nullopt, std::nullopt};
    auto found = costs_of_cell(cell, context.catalog);
    if (const auto* none = std::get_if<NoCosts>(&found)) {
      if (reason.empty()) reason = none->reason;
      continue;
    }
    CalibratedPass planned{.kernel = kernel, .device = device.name, .head_dim = question.head_dim};
    planned.costs = std::get<KernelCosts>(found).passes.front();
    KernelRun like{.kernel = kernel, .device = device.name, .pass = pass};
    like.q_tile = {planned.costs.q_tile_tokens};
    like.kv_tile = {planned.costs.kv_tile_tokens};
    like.head_dim = question.head_dim;
    like.dtype = question.dtype;
    const std::vector<CostPrior> priors = context.catalog.cost_priors.of(pass, kernel, question.head_dim);
    planned.suggestions = suggest(like, {}, prior_fit(planned.costs, priors), priors, question.runs, context);
    plan.passes.push_back(std::move(planned));
  }
  if (plan.passes.empty()) throw InvalidParameter("kernel", kernel, "a kernel with times there: " + reason);
  return plan;
}

}  // namespace natten_sim::study

#include <algorithm>
#include <cmath>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/calibrate.hpp>

#include "calibrated_copies.hpp"
#include "suggested_runs.hpp"
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

/// What no fit changes.
void keep_constants(const PassCosts& from, PassCosts& costs) {
  costs.pass = from.pass;
  costs.q_tile_tokens = from.q_tile_tokens;
  costs.kv_tile_tokens = from.kv_tile_tokens;
  costs.ctas_per_sm = from.ctas_per_sm;
  costs.lone_share = from.lone_share;
}

bool same_pass(const KernelRun& a, const KernelRun& b) {
  return a.kernel == b.kernel && a.device == b.device && a.head_dim == b.head_dim && a.pass == b.pass &&
         element_bytes(a.dtype) == element_bytes(b.dtype);
}

std::string kind_of(const LaunchWork& work) {
  if (work.masked_tiles > 0.5 * work.tiles()) return "masked " + std::to_string(work.axes) + "-D";
  return work.bounds_masked_tiles > 0.5 * work.tiles() ? "bounds-masked" : "unmasked";
}

void require_one_tile_size(const std::vector<KernelRun>& runs) {
  for (const KernelRun& run : runs) {
    const auto tokens = [](const Extents& tile) { return product(tile, "tile"); };
    if (tokens(run.q_tile) == tokens(runs[0].q_tile) && tokens(run.kv_tile) == tokens(runs[0].kv_tile))
      continue;
    throw InvalidParameter(
        "runs", run.kernel + " with tiles " + to_string(run.q_tile) + " and " + to_string(run.kv_tile),
        "tiles of " + std::to_string(tokens(runs[0].q_tile)) + " and " +
            std::to_string(tokens(runs[0].kv_tile)) + " tokens, as the first run of this pass");
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

CalibratedPass calibrate_pass(const std::vector<KernelRun>& runs, const std::vector<CostPrior>& priors,
                              const CalibrateQuestion& question, const Context& context) {
  require_one_tile_size(runs);
  PassCosts relative = relative_costs(runs[0]);
  relative.ctas_per_sm = std::llround(constant_of(priors, "ctas_per_sm", 1));
  relative.lone_share = constant_of(priors, "lone_share", 0);
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

/// The power limit belongs to the device: how much it slows long runs of one kernel is expected of the others
/// there. The geometric mean over those is the prior then; what the pass itself shows is not in it.
std::vector<CostPrior> priors_beside(const CalibratedPass& pass, const std::vector<CalibratedPass>& all,
                                     const Context& context) {
  std::vector<CostPrior> priors = context.catalog.cost_priors.of(pass.costs.pass, pass.kernel, pass.head_dim);
  double slowdown = 0, slowdown_ms = 0;
  int others = 0;
  for (const CalibratedPass& other : all) {
    if (other.device != pass.device || other.head_dim != pass.head_dim || other.kernel == pass.kernel ||
        other.costs.pass != pass.costs.pass || !(other.costs.slowdown > 0))
      continue;
    slowdown += std::log(other.costs.slowdown);
    slowdown_ms += std::log(other.costs.slowdown_ms);
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
           element_bytes(entry.dtypes.front()) == element_bytes(run.dtype);
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
    run.kernel = timed_kernel(run.kernel, device).name;
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
         calibrated_copy_rates(runs, entry.passes.back().launch_us, question.source, context))
      entry.permutation.push_back(std::move(rate));
  }
  for (KernelCosts& entry : answer.entries) keep_copy_rates(context.catalog, entry);
  return answer;
}

}  // namespace natten_sim::study

#include "suggested_runs.hpp"

#include <algorithm>

#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

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
  const TimedKernel kernel = timed_kernel(like.kernel, context.catalog.device(like.device));
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
        const Backend& backend = context.catalog.backend(to_string(kernel.family));
        add_windows(preset, run, pairs_like(like, backend, preset.layout.rank()), candidates);
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

}  // namespace

std::vector<SuggestedRun> suggest(const KernelRun& like, const std::vector<KernelRun>& measured, const CostFit& fit,
                                  const std::vector<CostPrior>& priors, std::size_t most, const Context& context) {
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

}  // namespace natten_sim::study

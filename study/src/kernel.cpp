#include <algorithm>
#include <cmath>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/study/kernel.hpp>

namespace natten_sim::study {
namespace {

std::optional<NattenBackend> natten_backend(const std::string& name) {
  for (const Name<NattenBackend>& entry : NamesOf<NattenBackend>::kTable) {
    if (name == entry.name) return entry.value;
  }
  return std::nullopt;
}

/// Without a device, the oldest one that the backend is made for, but no older than those in use.
std::int64_t usual_capability(const NattenBackendRules& rules) {
  constexpr std::int64_t kAmpere = 80;
  return rules.compute_capabilities.empty() ? std::max(kAmpere, rules.lowest_compute_capability)
                                            : rules.compute_capabilities.front();
}

KernelLaunch dense_launch(NattenBackend family, const TilePair& tiles, const KernelVisits& visits) {
  return {.family = family, .dense = true, .tiles = tiles, .visits = visits};
}

std::int64_t multiplied_pairs(const KernelLaunch& launch) {
  const char* quantity = "kernel mma_pairs";
  return checked_multiply(launch.visits.visited_tiles,
                          checked_multiply(product(launch.tiles.q_tile, quantity),
                                           product(launch.tiles.kv_tile, quantity), quantity),
                          quantity);
}

OperandSizes sizes_of(const NattenCall& call) {
  return {.batch = call.batch,
          .heads = call.heads,
          .heads_kv = call.heads_kv,
          .head_dim = call.head_dim,
          .head_dim_value = call.head_dim_value,
          .element_bytes = element_bytes(call.dtype)};
}

std::optional<TokenPermutation> permutation_that_fits(const NeighborhoodMask& mask, const KernelPass& pass,
                                                      const NattenCall& call) {
  if (pass.dense_path) return TokenPermutation{};
  try {
    return token_permutation(mask, pass.attention.family, pass.attention.tiles, pass.walk, sizes_of(call));
  } catch (const OverflowError&) {  // as with FLOPs: counts that fit do not fail
    return std::nullopt;
  }
}

double number(std::int64_t value) { return static_cast<double>(value); }
double number(Int128 value) { return static_cast<double>(value); }

/// Token pairs of dense attention, additional keys included.
double dense_pairs(const NattenCall& call) {
  const double tokens = number(product(call.input, "tokens"));
  return tokens * (tokens + number(call.additional_keys));
}

KernelSpeedups speedups_of(const KernelPass& pass, const TileCount& count, const NattenCall& call) {
  const KernelVisits& visits = pass.attention.visits;
  KernelSpeedups speedup;
  speedup.work = dense_pairs(call) / (number(pass.attention.mma_pairs) +
                                      (pass.additional ? number(pass.additional->mma_pairs) : 0));
  if (pass.dense_path) {
    const TilePair& tiles = pass.attention.tiles;
    const std::int64_t tokens = product(call.input, "tokens");
    const std::int64_t q_tiles = ceil_divide(tokens, tiles.q_tile[0]);
    const std::int64_t kv_tiles = ceil_divide(tokens + call.additional_keys, tiles.kv_tile[0]);
    speedup.mean = number(q_tiles) * number(kv_tiles) / number(visits.visited_tiles);
    return speedup;  // the busiest tile streams all the others
  }
  speedup.mean = number(count.dense_tiles) / number(visits.visited_tiles);
  speedup.worst =
      number(count.dense_tiles) / (number(visits.launched_tiles) * number(count.max_tiles_per_walked_tile));
  return speedup;
}

struct DenseRate {
  double flops_per_s = 0;
  const char* name = "";
};

/// Rate of dense attention: cuDNN's where it is known for the head dim, else that of dense products.
std::optional<DenseRate> dense_rate(const Device& device, const Catalog& catalog, const NattenCall& call,
                                    Walk walk) {
  if (element_bytes(call.dtype) != 2) return std::nullopt;
  for (const AttentionKernel& kernel : catalog.kernels) {
    if (kernel.name != "cudnn" || walk == Walk::kBackward) continue;  // its rates are of forward passes
    for (const KernelRate& rate : kernel.rates) {
      if (rate.device == device.name && rate.head_dim == call.head_dim)
        return DenseRate{rate.flops_per_s, "cudnn"};
    }
  }
  if (!device.dense_bf16_flops_per_s) return std::nullopt;
  return DenseRate{device.dense_bf16_flops_per_s->value, "peak"};
}

/// 2 (d + dv) FLOPs a pair forward, 2 (3 d + 2 dv) backward, as in flops().
double dense_flops(const NattenCall& call, Walk walk) {
  const double d = number(call.head_dim), dv = number(call.head_dim_value);
  const double per_pair = 2 * (walk == Walk::kForward ? d + dv : 3 * d + 2 * dv);
  return per_pair * number(call.batch) * number(call.heads) * dense_pairs(call);
}

void add_floors(const Setting& setting, const Catalog& catalog, const NattenCall& call, KernelPass& pass) {
  if (!setting.device || !pass.permutation) return;
  const Device& device = catalog.device(*setting.device);
  if (!device.dram_bytes_per_s) return;
  constexpr double kMsPerS = 1e3;
  KernelFloors& floors = pass.floors.emplace();
  floors.permutation_ms = kMsPerS * number(pass.permutation->bytes) / device.dram_bytes_per_s->value;
  const std::optional<DenseRate> rate = dense_rate(device, catalog, call, pass.walk);
  if (!rate) return;
  floors.dense_rate = rate->name;
  const double dense_ms = kMsPerS * dense_flops(call, pass.walk) / rate->flops_per_s;
  const auto with_copies = [&](double speedup) {
    return dense_ms / (dense_ms / speedup + floors.permutation_ms);
  };
  floors.dense_ms = dense_ms;
  pass.with_permutation = KernelSpeedups{.mean = with_copies(pass.speedup.mean),
                                         .worst = with_copies(pass.speedup.worst),
                                         .work = with_copies(pass.speedup.work)};
}

KernelPass pass_of(const NattenCall& call, const NattenDispatch& dispatch, const TilingProblem& problem,
                   const TileCount& count, const PerAxis<AxisCount>& axes) {
  const bool forward = problem.walk == Walk::kForward;
  const TilePair& fmha_tiles = forward ? dispatch.fmha_tiles : dispatch.fmha_backward_tiles;
  NattenProblem visited{.mask = problem.mask,
                        .backend = dispatch.backend,
                        .tiles = problem.tiles,
                        .pass = problem.walk,
                        .additional_keys = call.additional_keys,
                        .counted = axes};
  if (!fmha_tiles.q_tile.empty()) visited.fmha = {dispatch.fmha, fmha_tiles.q_tile[0], fmha_tiles.kv_tile[0]};
  const NattenVisits visits = natten_visits(visited);
  KernelPass pass{.walk = problem.walk, .dense_path = visits.dense_path};
  pass.attention =
      visits.dense_path
          ? dense_launch(dispatch.fmha, fmha_tiles, visits.attention)
          : KernelLaunch{.family = dispatch.backend, .tiles = problem.tiles, .visits = visits.attention};
  pass.attention.mma_pairs = multiplied_pairs(pass.attention);
  if (visits.additional) {
    pass.additional = dense_launch(dispatch.fmha, fmha_tiles, *visits.additional);
    pass.additional->mma_pairs = multiplied_pairs(*pass.additional);
  }
  if (forward) pass.schedule = dispatch.kernel_schedule;
  pass.natten_fast_path = visits.attention.masked_tiles == 0;
  pass.permutation = permutation_that_fits(problem.mask, pass, call);
  pass.speedup = speedups_of(pass, count, call);
  return pass;
}

/// For a call whose tiles alone are refused: what NATTEN does with its own tiles.
std::optional<NattenDispatch> dispatch_but_for_tiles(NattenCall call, const NattenRules& rules) {
  call.tiles = call.backward_tiles = std::nullopt;
  std::optional<NattenDispatch> dispatch = verdict_of(rules, call).dispatch;
  if (dispatch) dispatch->kernel_schedule.clear();
  return dispatch;
}

}  // namespace

const char* name_of(const KernelLaunch& launch) noexcept {
  return launch.dense ? fmha_name(launch.family) : to_string(launch.family);
}

NattenCall attention_call_of(const Setting& setting, const TilingProblem& forward,
                             const TilingProblem* backward) {
  NattenCall call;
  call.input = input_of(forward.mask);
  call.window = window_of(forward.mask);
  call.stride = stride_of(forward.mask);
  call.dilation = dilation_of(forward.mask);
  call.causal = causal_of(forward.mask);
  call.batch = setting.batch;
  call.heads = setting.heads.value();
  call.heads_kv = setting.heads_kv.value();
  call.head_dim = setting.head_dim.value();
  call.head_dim_value = setting.head_dim_value.value();
  call.dtype = setting.dtype.value();
  call.additional_keys = setting.add_kv;
  call.requires_grad = backward != nullptr;
  call.deterministic = setting.deterministic;
  return call;
}

std::optional<NattenCall> natten_call_of(const Setting& setting, const TilingProblem& forward,
                                         const TilingProblem* backward, const Context& context) {
  const std::optional<NattenBackend> backend =
      natten_backend(effective_backend(setting, context.catalog).name);
  constexpr std::size_t kMostAxes = 3;
  if (!backend || context.catalog.natten.empty() || forward.mask.rank() > kMostAxes ||
      forward.tiling != Tiling::kMultiDimensional || has_cycle(forward.mask) ||
      forward.kv_tiling != streamed_tiling(*backend, Walk::kForward) ||
      (backward != nullptr && backward->kv_tiling != streamed_tiling(*backend, Walk::kBackward)))
    return std::nullopt;
  NattenCall call = attention_call_of(setting, forward, backward);
  call.compute_capability = usual_capability(context.catalog.natten_release(setting.natten).of(*backend));
  if (setting.device) {
    if (const auto capability = compute_capability(context.catalog.device(*setting.device)))
      call.compute_capability = *capability;
  }
  call.backend = backend;
  call.tiles = forward.tiles;
  if (backward != nullptr && *backend != NattenBackend::kFlexFna) call.backward_tiles = backward->tiles;
  return call;
}

namespace {

/// None: other tiles are accepted, or no backend runs the call.
std::optional<NattenBackend> way_out(const NattenRules& rules, NattenCall call) {
  call.tiles = call.backward_tiles = std::nullopt;
  call.kernel_schedule.clear();
  if (!refusal_of(rules, call)) return std::nullopt;
  for (const NattenBackendRules& backend : rules.backends) {
    call.backend = backend.backend;
    if (!refusal_of(rules, call)) return backend.backend;
  }
  return std::nullopt;
}

/// The backends that NATTEN would rather have run than the call's, or dense kernels.
std::vector<PassedOverBackend> passed_over(const NattenRules& rules, const NattenCall& call) {
  const bool dense = takes_dense_path(call.input, call.window, call.causal, call.additional_keys > 0);
  BackendChoice choice =
      dense ? choose_dense_backend(rules, call, call.causal[0]) : choose_backend(rules, call);
  if (choice.refusal || (!dense && choice.backend != *call.backend)) return {};
  return std::move(choice.passed_over);
}

}  // namespace

KernelAnswer kernel_answer(const KernelQuestion& question, const Context& context) {
  KernelAnswer answer;
  answer.call = natten_call_of(question.setting, question.forward, question.backward, context);
  if (!answer.call) return answer;
  const NattenRules& rules = context.catalog.natten_release(question.setting.natten);
  answer.version = rules.version;
  if (question.setting.device) answer.passed_over = passed_over(rules, *answer.call);
  NattenVerdict verdict = verdict_of(rules, *answer.call);
  answer.refusal = std::move(verdict.refusal);
  if (answer.refusal && question.setting.device) {
    if (auto none_runs = choose_backend(rules, *answer.call).refusal) answer.refusal = std::move(none_runs);
  }
  if (answer.refusal) {
    answer.way_out = way_out(rules, *answer.call);
    verdict.dispatch = dispatch_but_for_tiles(*answer.call, rules);
  }
  if (!verdict.dispatch) return answer;
  if (!question.setting.backend && answer.refusal) return {};  // nobody spoke of NATTEN
  const NattenDispatch& dispatch = *verdict.dispatch;
  if (dispatch.dense_path) answer.unused_backend = answer.call->backend;
  if (!dispatch.dense_path && !answer.refusal) answer.call->kernel_schedule = dispatch.kernel_schedule;
  const auto pass = [&](const TilingProblem& problem, const TileCount& count,
                        const PerAxis<AxisCount>& axes) {
    KernelPass made = pass_of(*answer.call, dispatch, problem, count, axes);
    add_floors(question.setting, context.catalog, *answer.call, made);
    return made;
  };
  answer.forward = pass(question.forward, question.forward_count, question.forward_axes);
  if (question.backward != nullptr)
    answer.backward = pass(*question.backward, *question.backward_count, question.backward_axes);
  if (const std::optional<AttentionShare> share = share_of(question.setting)) {
    const KernelSpeedups speedup = answer.forward->with_permutation.value_or(answer.forward->speedup);
    answer.end_to_end =
        KernelEndToEnd{end_to_end_speedup(*share, speedup.mean), end_to_end_speedup(*share, speedup.worst)};
  }
  return answer;
}

}  // namespace natten_sim::study

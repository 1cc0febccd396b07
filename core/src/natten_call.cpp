#include <algorithm>
#include <bit>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/natten_call.hpp>

#include "natten_checks.hpp"

namespace natten_sim {

bool HeadDimRule::accepts(std::int64_t head_dim) const noexcept {
  if (!only.empty()) return std::find(only.begin(), only.end(), head_dim) != only.end();
  if (head_dim < lowest || head_dim > highest || head_dim % multiple != 0) return false;
  return !power_of_two || std::has_single_bit(static_cast<std::uint64_t>(head_dim));
}

std::int64_t HeadDimRule::nearest(std::int64_t head_dim) const noexcept {
  if (!only.empty()) {
    std::int64_t best = only.front();
    for (const std::int64_t candidate : only) {
      const std::int64_t distance = std::abs(candidate - head_dim), least = std::abs(best - head_dim);
      if (distance < least || (distance == least && candidate > best)) best = candidate;
    }
    return best;
  }
  const std::int64_t inside = std::clamp(head_dim, lowest, highest);
  for (std::int64_t distance = 0; distance <= highest - lowest; ++distance) {
    if (accepts(inside + distance)) return inside + distance;
    if (accepts(inside - distance)) return inside - distance;
  }
  return lowest;
}

std::string HeadDimRule::text() const {
  if (!only.empty()) {
    std::string text;
    for (const std::int64_t head_dim : only) text += (text.empty() ? "" : ", ") + std::to_string(head_dim);
    return text;
  }
  std::string text = std::to_string(lowest) + " to " + std::to_string(highest);
  if (multiple > 1) text += ", multiples of " + std::to_string(multiple);
  if (power_of_two) text += ", powers of two";
  return text;
}

bool GemmRule::fits(std::int64_t compute_capability) const noexcept {
  const auto listed = [&](const std::vector<std::int64_t>& capabilities) {
    return std::find(capabilities.begin(), capabilities.end(), compute_capability) != capabilities.end();
  };
  if (!compute_capabilities.empty()) return listed(compute_capabilities);
  return !listed(without_compute_capabilities);
}

const NattenBackendRules& NattenRules::of(NattenBackend backend) const {
  for (const NattenBackendRules& rules : backends) {
    if (rules.backend == backend) return rules;
  }
  throw InvalidParameter("backend", to_string(backend), "a backend that the rules hold");
}

std::optional<NattenRefusal> refusal_of(const NattenRules& rules, const NattenCall& call) {
  if (auto refusal = tensor_refusal(call)) return refusal;
  if (auto refusal = mask_refusal(call)) return refusal;
  if (takes_dense_path(call.input, call.window, causal_or_none(call), call.additional_keys > 0)) {
    return choose_dense_backend(rules, call, causal_or_none(call)[0]).refusal;
  }
  const BackendChoice choice = choose_fna(rules, call);
  if (choice.refusal) return choice.refusal;
  if (auto refusal = tiles_refusal(rules.of(choice.backend), call)) return refusal;
  if (call.additional_keys > 0) return choose_dense_backend(rules, call, false).refusal;
  return std::nullopt;
}

void require_accepted(const NattenRules& rules, const NattenCall& call) {
  const std::optional<NattenRefusal> refusal = refusal_of(rules, call);
  if (!refusal) return;
  throw InvalidParameter(refusal->parameter, refusal->value,
                         refusal->accepted + " (NATTEN: " + refusal->rule + ")", refusal->nearest);
}

namespace {

NattenDispatch dispatch_of_accepted(const NattenRules& rules, const NattenCall& call) {
  NattenDispatch dispatch;
  const PerAxis<bool> causal = causal_or_none(call);
  dispatch.dense_path = takes_dense_path(call.input, call.window, causal, call.additional_keys > 0);
  if (dispatch.dense_path || call.additional_keys > 0) {
    dispatch.fmha = choose_dense_backend(rules, call, dispatch.dense_path && causal[0]).backend;
    const DefaultConfig config = default_config(rules.of(dispatch.fmha), 1, call);
    dispatch.fmha_tiles = config.forward.tiles;
    dispatch.fmha_backward_tiles = config.backward.value_or(config.forward.tiles);
  }
  if (dispatch.dense_path) {
    dispatch.backend = dispatch.fmha;
    return dispatch;
  }
  dispatch.backend = choose_fna(rules, call).backend;
  const DefaultConfig config = default_config(rules.of(dispatch.backend), call.input.rank(), call);
  if (dispatch.backend == NattenBackend::kFlexFna) {  // without tiles the tokens stay in row-major order
    dispatch.tiles = dispatch.backward_tiles = call.tiles;
    return dispatch;
  }
  dispatch.tiles = call.tiles.value_or(config.forward.tiles);
  dispatch.backward_tiles = call.backward_tiles ? call.backward_tiles : config.backward;
  if (dispatch.backend == NattenBackend::kHopperFna) {
    dispatch.kernel_schedule = schedule_of(rules.of(dispatch.backend), call, *dispatch.tiles);
  }
  return dispatch;
}

}  // namespace

namespace {

/// Tiles and a schedule that NATTEN takes anyway.
void leave_out_defaults(const NattenBackendRules& rules, const NattenDispatch& dispatch, NattenCall& call) {
  const DefaultConfig config = default_config(rules, call.input.rank(), call);
  if (rules.backend == NattenBackend::kFlexFna) return;  // with the tiles that it lists it copies tokens
  NattenCall open = call;
  open.kernel_schedule.clear();
  const bool own_schedule =
      call.kernel_schedule.empty() || call.kernel_schedule == schedule_of(rules, open, config.forward.tiles);
  if (dispatch.tiles == config.forward.tiles && own_schedule) {
    call.tiles = std::nullopt;
    call.kernel_schedule.clear();
  }
  if (call.backward_tiles == config.backward) call.backward_tiles = std::nullopt;
}

/// Whether the dense kernel of additional keys takes the products of the tiles and the schedule.
void require_dense_kernel(const NattenBackendRules& rules, const NattenCall& call) {
  NattenCall row = call;
  row.input = {1};
  for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
    const std::optional<TilePair>& tiles = pass == Walk::kForward ? call.tiles : call.backward_tiles;
    if (!tiles) continue;
    const TilePair products{{product(tiles->q_tile, "q_tile")}, {product(tiles->kv_tile, "kv_tile")}};
    const bool hopper = rules.backend == NattenBackend::kHopperFna && pass == Walk::kForward;
    const auto refusal = pair_refusal(rules, row, pass, products, hopper ? call.kernel_schedule : "");
    if (!refusal) continue;
    throw InvalidParameter(refusal->parameter, refusal->value,
                           refusal->accepted + " of " + fmha_name(rules.backend) +
                               " (NATTEN's profiler runs additional keys with as large tiles)",
                           refusal->nearest);
  }
}

}  // namespace

NattenVerdict verdict_of(const NattenRules& rules, const NattenCall& call) {
  NattenVerdict verdict{.refusal = refusal_of(rules, call)};
  if (!verdict.refusal) verdict.dispatch = dispatch_of_accepted(rules, call);
  return verdict;
}

NattenDispatch dispatch_of(const NattenRules& rules, const NattenCall& call) {
  require_accepted(rules, call);
  return dispatch_of_accepted(rules, call);
}

NattenCall profiler_call(const NattenRules& rules, const NattenCall& call) {
  const NattenDispatch dispatch = dispatch_of(rules, call);
  NattenCall asked = call;
  if (dispatch.backend != NattenBackend::kHopperFna) asked.kernel_schedule.clear();
  if (dispatch.dense_path) {
    asked.backend = std::nullopt;
    asked.tiles = asked.backward_tiles = std::nullopt;
    asked.kernel_schedule.clear();
    return asked;
  }
  if (call.deterministic) asked.backend = dispatch.backend;  // the profiler does not ask for such algorithms
  if (call.additional_keys == 0) return asked;
  leave_out_defaults(rules.of(dispatch.backend), dispatch, asked);
  NattenCall unordered = call;
  unordered.deterministic = false;
  require_dense_kernel(rules.of(choose_dense_backend(rules, unordered, false).backend), asked);
  return asked;
}

}  // namespace natten_sim

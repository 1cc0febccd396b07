#include <algorithm>

#include <natten_sim/core/error.hpp>

#include "searches/search_space.hpp"

namespace natten_sim::study {
namespace {

/// NATTEN's refusal of a combination; none: it takes it.
std::optional<NattenRefusal> refusal_in(const SearchQuestion& question, const SearchSpace& space,
                                        const Extents& window, const TileChoice& choice,
                                        const Context& context) {
  const NeighborhoodMask mask =
      make_mask(space.input, window, {}, space.dilation, space.causal, space.cyclic);
  const CallParts parts = call_parts_in(question, space, mask, choice, context.catalog);
  const std::optional<NattenCall> call =
      natten_call_of(parts.setting, parts.forward, parts.backward ? &*parts.backward : nullptr, context);
  if (call) return refusal_of(context.catalog.natten_release(parts.setting.natten), *call);
  if (space.input.rank() > 3)
    return NattenRefusal{"layouts have 1 to 3 axes", "input", to_string(space.input), "1 to 3 axes", ""};
  if (has_cycle(mask)) {
    if (choice.backend == to_string(NattenBackend::kFlexFna)) return std::nullopt;  // run by itself
    return NattenRefusal{"windows end at the borders", "cyclic", "true", "false", "false"};
  }
  const bool dynamic = space.kv_tiling == KvTiling::kDynamic;
  return NattenRefusal{"the backend's kernel decides where KV tiles lie", "kv-tiling",
                       to_string(space.kv_tiling), dynamic ? "static" : "dynamic",
                       dynamic ? "static" : "dynamic"};
}

/// Adds to the exclusion with the same rule, or makes one.
void exclude(const NattenRefusal& refusal, std::int64_t combinations,
             std::vector<SearchExclusion>& excluded) {
  for (SearchExclusion& known : excluded) {
    if (known.refusal.rule != refusal.rule) continue;
    known.combinations += combinations;
    return;
  }
  excluded.push_back({refusal, combinations});
}

[[noreturn]] void refuse(const NattenRefusal& refusal) {
  throw InvalidParameter(refusal.parameter, refusal.value,
                         refusal.accepted + " (NATTEN: " + refusal.rule + "), or " + mention("any"),
                         refusal.nearest);
}

/// The smallest window that NATTEN takes on an axis of any length.
constexpr std::int64_t kSmallestKernel = 2;

}  // namespace

void require_axes_of_natten(const Extents& input) {
  Extents rest;
  for (const std::int64_t length : input) {
    if (length >= kSmallestKernel) rest.push_back(length);
  }
  if (rest.rank() == input.rank()) return;
  throw InvalidParameter("input", to_string(input), "2 tokens or more along each axis (NATTEN: kernel sizes are 2 or more)",
                         rest.empty() ? "" : to_string(rest));
}

bool of_natten(const TileChoice& choice) { return choice.kernel.empty() || choice.kernel == choice.backend; }

Setting setting_of(const Setting& setting, const TileChoice& choice) {
  Setting result = setting;
  if (!choice.backend.empty()) result.backend = choice.backend;
  return result;
}

TilingProblem problem_of(const SearchSpace& space, const NeighborhoodMask& mask, const TileChoice& choice,
                         Walk walk) {
  const bool forward = walk == Walk::kForward;
  return {.mask = mask,
          .tiles = forward ? choice.tiles : choice.backward_tiles,
          .kv_tiling = forward ? space.kv_tiling : space.backward_kv_tiling,
          .walk = walk};
}

CallParts call_parts_in(const SearchQuestion& question, const SearchSpace& space,
                        const NeighborhoodMask& mask, const TileChoice& choice, const Catalog& catalog) {
  CallParts parts{.setting = setting_of(question.setting, choice),
                  .forward = problem_of(space, mask, choice, Walk::kForward),
                  .backward = {}};
  if (has_pass(space.phase, Walk::kBackward))
    parts.backward = problem_of(space, mask, choice, Walk::kBackward);
  if (has_pass(space.phase, Walk::kForward)) return parts;
  parts.forward.tiles =
      choose_tiles(parts.setting, catalog, {}, {}, space.input.rank(), Walk::kForward).tiles;
  parts.forward.kv_tiling = effective_kv_tiling({}, parts.setting, catalog);
  return parts;
}

CountQuestion count_question(const SearchAnswer& answer, const SearchCandidate& candidate) {
  const TilingProblem& problem = candidate.counted.problem;
  const bool walks_back = candidate.backward || answer.question.phase == SearchPhase::kBackward;
  CountQuestion question;
  question.setting = answer.question.setting;
  question.window = window_of(problem.mask);
  question.stride = stride_of(problem.mask);
  question.dilation = dilation_of(problem.mask);
  for (const AxisMask& axis : problem.mask) question.causal.push_back(axis.causal);
  if (has_cycle(problem.mask)) {
    question.cyclic = cyclic_of(problem.mask);
    question.setting.backend = std::nullopt;  // NATTEN's on the padded layout
  }
  question.q_tile = candidate.tiles.tiles.q_tile;
  question.kv_tile = candidate.tiles.tiles.kv_tile;
  if (!candidate.tiles.kernel.empty()) question.kernel = candidate.tiles.kernel;
  for (const KernelChoice& each : answer.question.kernels) {
    if (question.kernel && each.name == question.kernel->name) question.kernel = each;  // of its file
  }
  if (walks_back) {
    question.backward = true;
    question.backward_q_tile = candidate.tiles.backward_tiles.q_tile;
    question.backward_kv_tile = candidate.tiles.backward_tiles.kv_tile;
  }
  return question;
}

CallParts call_parts(const SearchAnswer& answer, const SearchCandidate& candidate, const Catalog& catalog) {
  const NeighborhoodMask& mask = candidate.counted.problem.mask;
  SearchSpace space = full_space(input_of(mask));
  space.phase = answer.question.phase;
  space.kv_tiling = candidate.counted.problem.kv_tiling;
  if (candidate.backward) space.backward_kv_tiling = candidate.backward->problem.kv_tiling;
  return call_parts_in(answer.question, space, mask, candidate.tiles, catalog);
}

std::vector<SearchExclusion> leave_out_refused(const SearchQuestion& question, const Context& context,
                                               SearchSpace& space) {
  std::vector<SearchExclusion> excluded;
  if (question.any || context.catalog.natten.empty()) return excluded;
  if (std::none_of(space.tiles.begin(), space.tiles.end(), of_natten)) return excluded;
  require_axes_of_natten(space.input);
  // A window that no rule about windows refuses, and that does not cover the input where one can be found.
  Extents window;
  for (const IntRange& range : space.window)
    window.push_back(std::max(range.lo, std::min(range.hi, kSmallestKernel)));
  const bool too_small =
      std::any_of(window.begin(), window.end(), [](std::int64_t size) { return size < kSmallestKernel; });
  const bool cyclic = asks_cycle(space.cyclic);  // run by FlexAttention itself, to which windows of one token are one more
  if (too_small && !cyclic) refuse(*refusal_in(question, space, window, space.tiles.front(), context));
  const std::int64_t of_choice = space_size(space) / static_cast<std::int64_t>(space.tiles.size());
  std::optional<NattenRefusal> last;
  std::erase_if(space.tiles, [&](const TileChoice& choice) {
    if (!of_natten(choice)) return false;
    const std::optional<NattenRefusal> refusal = refusal_in(question, space, window, choice, context);
    if (!refusal) return false;
    exclude(*refusal, of_choice, excluded);
    last = refusal;
    return true;
  });
  if (space.tiles.empty()) refuse(*last);
  if (cyclic) return excluded;
  const std::int64_t before = space_size(space);
  Extents smallest;
  for (IntRange& range : space.window) {
    smallest.push_back(range.lo);
    range.lo = std::max(range.lo, kSmallestKernel);
  }
  if (const std::int64_t left = space_size(space); left < before)
    exclude(*refusal_in(question, space, smallest, space.tiles.front(), context), before - left, excluded);
  return excluded;
}

std::optional<SearchExclusion> refused_dense_window(const SearchQuestion& question, const Context& context,
                                                    const SearchSpace& space) {
  if (question.any || context.catalog.natten.empty() || !of_natten(space.tiles.front())) return std::nullopt;
  Extents widest;
  SearchSpace dense = space;
  for (IntRange& window : dense.window) {
    window.lo = window.hi;
    widest.push_back(window.hi);
  }
  if (!takes_dense_path(space.input, widest, space.causal, question.setting.add_kv > 0)) return std::nullopt;
  const std::optional<NattenRefusal> refusal =
      refusal_in(question, space, widest, space.tiles.front(), context);
  if (!refusal) return std::nullopt;
  return SearchExclusion{*refusal, space_size(dense)};
}

}  // namespace natten_sim::study

#include <natten_sim/study/training_price.hpp>

#include <algorithm>

#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::study {
namespace {

/// The tiles of one pass with which the question's window and stride take least; none: nobody has times.
std::optional<TilePair> fastest_tiles(const CountQuestion& question, SearchPhase phase, const Context& context) {
  SearchQuestion asked;
  asked.setting = question.setting;
  asked.window = question.window;
  asked.stride = question.stride;
  asked.dilation = question.dilation;
  asked.causal = question.causal;
  asked.phase = phase;
  asked.kernels = {*question.setting.backend};
  asked.distinct = Distinct::kWindow;
  asked.top = 1;
  const SearchAnswer found = search(asked, context);
  if (found.question.objective != Objective::kTime || found.candidates.empty()) return std::nullopt;
  const TileChoice& tiles = found.candidates.front().tiles;
  return phase == SearchPhase::kForward ? tiles.tiles : tiles.backward_tiles;
}

/// Whether the answer's kernel is NATTEN's and has other gradients in every run.
bool varies(const CountAnswer& answer, const Catalog& catalog) {
  const NattenRules& rules = catalog.natten_release(answer.question.setting.natten);
  const std::string own = answer.question.kernel.value_or(answer.chosen_backend.value_or(""));
  const auto found = std::find_if(rules.backends.begin(), rules.backends.end(),
                                  [&](const NattenBackendRules& each) { return own == to_string(each.backend); });
  return found != rules.backends.end() && !found->deterministic_backward;
}

/// None: refused, or a pass has no time.
std::optional<DeterministicPrice> price_of(const CountAnswer& answer) {
  if (answer.kernel.refusal || !answer.time || !answer.backward || !answer.backward->time) return std::nullopt;
  DeterministicPrice price{.backend = *answer.question.setting.backend,
                           .tiles = answer.forward.problem.tiles,
                           .backward_tiles = answer.backward->problem.tiles};
  for (const TimeAnswer* time : {&*answer.time, &*answer.backward->time}) {
    const auto* passed = std::get_if<PassTime>(time);
    if (passed == nullptr) return std::nullopt;
    price.total_ms += passed->total_ms;
    price.low_ms += passed->low_ms;
    price.high_ms += passed->high_ms;
  }
  return price;
}

}  // namespace

std::optional<DeterministicPrice> deterministic_price(const CountAnswer& answer, const Context& context) {
  if (!varies(answer, context.catalog)) return std::nullopt;
  CountQuestion question = answer.question;
  question.setting.backend = to_string(NattenBackend::kCutlassFna);
  question.kernel = std::nullopt;
  question.q_tile = question.kv_tile = question.backward_q_tile = question.backward_kv_tile = {};
  question.kv_tiling = question.backward_q_tiling = std::nullopt;  // those of the other backend, as are its launches
  question.kernel_schedule = std::nullopt;
  question.setting.deterministic = true;
  question.backward = true;
  Context quiet = context;
  quiet.progress = {};
  if (!price_of(count(question, quiet))) return std::nullopt;  // with any tiles
  const std::optional<TilePair> forward = fastest_tiles(question, SearchPhase::kForward, quiet);
  const std::optional<TilePair> backward = fastest_tiles(question, SearchPhase::kBackward, quiet);
  if (!forward || !backward) return std::nullopt;
  question.q_tile = forward->q_tile;
  question.kv_tile = forward->kv_tile;
  question.backward_q_tile = backward->q_tile;
  question.backward_kv_tile = backward->kv_tile;
  return price_of(count(question, quiet));
}

}  // namespace natten_sim::study

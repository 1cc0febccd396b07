#include <natten_sim/study/training_price.hpp>

#include <algorithm>

#include <natten_sim/core/natten_backend.hpp>

namespace natten_sim::study {

std::optional<DeterministicPrice> deterministic_price(const CountAnswer& answer, const Context& context) {
  const NattenRules& rules = context.catalog.natten_release(answer.question.setting.natten);
  const std::string own = answer.question.kernel.value_or(answer.chosen_backend.value_or(""));
  const auto found = std::find_if(rules.backends.begin(), rules.backends.end(),
                                  [&](const NattenBackendRules& each) { return own == to_string(each.backend); });
  if (found == rules.backends.end() || found->deterministic_backward) return std::nullopt;
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
  const CountAnswer other = count(question, quiet);
  if (other.kernel.refusal || !other.time || !other.backward || !other.backward->time) return std::nullopt;
  DeterministicPrice price{.backend = *question.setting.backend};
  for (const TimeAnswer* time : {&*other.time, &*other.backward->time}) {
    const auto* passed = std::get_if<PassTime>(time);
    if (passed == nullptr) return std::nullopt;
    price.total_ms += passed->total_ms;
    price.low_ms += passed->low_ms;
    price.high_ms += passed->high_ms;
  }
  return price;
}

}  // namespace natten_sim::study

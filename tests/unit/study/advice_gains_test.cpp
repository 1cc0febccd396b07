// What advice gains end to end, and what deterministic gradients cost, by hand and tile by tile.
#include <algorithm>
#include <optional>

#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/study/advise.hpp>
#include <natten_sim/study/training_price.hpp>

#include "advice_questions.hpp"
#include "catch.hpp"

namespace advice_gains_test {

using namespace natten_sim;
using study::AdviceChoice;
using study::AdviseQuestion;
using study::AdviseUse;
using test::asked;
using test::choices_of;
using test::mask_of;
using test::preset;
using test::shared_context;

/// Both passes by cutlass-fna: the fastest tiles of each, one after the other.
double deterministic_ms(const AdviceChoice& choice, std::size_t axes) {
  study::CountQuestion again;
  again.setting = choice.count.question.setting;
  again.setting.backend = "cutlass-fna";
  again.setting.deterministic = true;
  again.window = window_of(mask_of(choice));
  again.stride = stride_of(mask_of(choice));
  again.backward = true;
  double forward_ms = 1e300, backward_ms = 1e300;
  for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
    const Backend& backend = shared_context().catalog.backend("cutlass-fna");
    for (const BackendTiles& entry : walk == Walk::kForward ? backend.forward : backend.backward) {
      if (entry.tiles.q_tile.rank() != axes) continue;
      study::CountQuestion asked = again;
      (walk == Walk::kForward ? asked.q_tile : asked.backward_q_tile) = entry.tiles.q_tile;
      (walk == Walk::kForward ? asked.kv_tile : asked.backward_kv_tile) = entry.tiles.kv_tile;
      const study::CountAnswer other = study::count(asked, shared_context());
      if (other.kernel.refusal) continue;
      forward_ms = std::min(forward_ms, std::get<study::PassTime>(*other.time).total_ms);
      backward_ms = std::min(backward_ms, std::get<study::PassTime>(*other.backward->time).total_ms);
    }
  }
  return forward_ms + backward_ms;
}

TEST_CASE("training has the price of deterministic gradients: both passes by cutlass-fna with its fastest tiles") {
  for (AdviseQuestion question : {preset("hunyuan-video"), preset("hunyuan-video", "h100"), asked({96, 112}, 4)}) {
    question.use = AdviseUse::kTraining;
    const AdviceChoice choice = choices_of(question).at(0);
    const auto price = study::deterministic_price(choice.count, shared_context());
    REQUIRE(price);
    CHECK(price->backend == "cutlass-fna");
    CHECK(price->total_ms == Approx(deterministic_ms(choice, mask_of(choice).rank())));
    CHECK(price->low_ms < price->total_ms);
    CHECK(price->total_ms < price->high_ms);
    study::CountQuestion again = choice.count.question;
    again.setting.backend = "cutlass-fna";
    again.kernel.reset();
    again.q_tile = price->tiles.q_tile;
    again.kv_tile = price->tiles.kv_tile;
    again.backward_q_tile = price->backward_tiles.q_tile;
    again.backward_kv_tile = price->backward_tiles.kv_tile;
    const study::CountAnswer other = study::count(again, shared_context());
    CHECK_FALSE(other.kernel.refusal);
    CHECK_FALSE(study::deterministic_price(other, shared_context()));  // has it itself
  }
}

TEST_CASE("models whose attention share is estimated, and training, gain end to end between bounds") {
  // 60 x 12 x 3072^2 weights are multiplied by 2 x tokens for 4 x tokens^2 x 3072 of attention; a FLOP of them takes 2.645
  // times (1.382 .. 4.047) as long. With the preset's steps, none of which is dense.
  AdviseQuestion question = preset("hunyuan-video-129f");
  const AdviceChoice choice = choices_of(question).at(0);
  REQUIRE(choice.end_to_end);
  CHECK(choice.end_to_end->estimated);
  const double tokens = 33.0 * 45 * 80;
  const auto share = [&](double cost) { return 1 / (1 + 12 * 3072.0 * 3072 / (2 * tokens * 3072) * cost); };
  const auto& time = std::get<study::PassTime>(*choice.count.time);
  const auto gain = [&](double of, double ms) { return 1 / (1 - of + of * ms / *time.dense_ms); };
  CHECK(choice.end_to_end->speedup.value == Approx(gain(share(2.645), time.total_ms)));
  CHECK(choice.end_to_end->speedup.low == Approx(gain(share(4.047), time.high_ms)));
  CHECK(choice.end_to_end->speedup.high == Approx(gain(share(1.382), time.low_ms)));

  question = preset("hunyuan-video");  // attention has 60.7% of a dense forward pass; all else takes three of its own
  question.use = AdviseUse::kTraining;
  const AdviceChoice trained = choices_of(question).at(0);
  REQUIRE(trained.end_to_end);
  CHECK(trained.end_to_end->estimated);
  const auto& forward = std::get<study::PassTime>(*trained.count.time);
  const auto& backward = std::get<study::PassTime>(*trained.count.backward->time);
  const double rest = 3 * *forward.dense_ms * (1 / 0.607 - 1), dense = *forward.dense_ms + *backward.dense_ms;
  CHECK(trained.end_to_end->speedup.value == Approx((dense + rest) / (trained.total_ms + rest)));
  CHECK(trained.end_to_end->speedup.low < trained.end_to_end->speedup.value);
  CHECK(trained.end_to_end->speedup.value < trained.end_to_end->speedup.high);
  CHECK_FALSE(choices_of(asked({64, 64}, 8)).at(0).end_to_end);  // nobody knows the model
}

TEST_CASE("a preset's dense steps count end to end, and other ones where they are given") {
  AdviseQuestion question = preset("hunyuan-video");  // attention is .607 of the time, 15 of 50 steps are dense
  const AdviceChoice dense = choices_of(question).at(0);
  CHECK(dense.end_to_end->speedup.value ==
        Approx(1 / (1 - 0.607 + 0.607 * (15 / 50.0 + 35 / 50.0 / *dense.speedup))));
  question.setting.dense_steps = study::StepRatio{0, 50};
  const AdviceChoice sparse = choices_of(question).at(0);
  CHECK(sparse.end_to_end->speedup.value == Approx(1 / (1 - 0.607 + 0.607 / *sparse.speedup)));
}

}  // namespace advice_gains_test

// What a count of both passes comes down to: every gain is that of asking count() once more.
#include <algorithm>

#include <natten_sim/study/conclusion/count.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace backward_conclusion_test {

using namespace natten_sim;
using study::CountLever;
using natten_sim::test::shared_context;

study::CountQuestion video(const char* device) {
  study::CountQuestion question;
  question.setting.preset = "hunyuan-video";
  question.setting.device = device;
  question.window = {18, 24, 24};
  return question;
}

double forward_ms(const study::CountAnswer& answer) {
  return std::get<study::PassTime>(answer.time.value()).total_ms;
}

double backward_ms(const study::CountAnswer& answer) {
  return std::get<study::PassTime>(answer.backward.value().time.value()).total_ms;
}

TEST_CASE("with a backward pass the change is of both: each pass takes the tiles of its backend with which it is fastest") {
  for (const char* device : {"h200", "b200"}) {
    study::CountQuestion question = video(device);
    question.stride = {16, 8, 8};
    question.backward = true;
    const study::CountAnswer answer = study::count(question, shared_context());
    const Backend& backend = shared_context().catalog.backend(*answer.chosen_backend);
    double forward = 1e9, backward = 1e9;
    study::CountQuestion other = question;
    for (const TilePair& pair : tile_pairs(backend, 3, 128, Walk::kForward)) {
      other.q_tile = pair.q_tile, other.kv_tile = pair.kv_tile;
      forward = std::min(forward, forward_ms(study::count(other, shared_context())));
    }
    for (const TilePair& pair : tile_pairs(backend, 3, 128, Walk::kBackward)) {
      other.backward_q_tile = pair.q_tile, other.backward_kv_tile = pair.kv_tile;
      backward = std::min(backward, backward_ms(study::count(other, shared_context())));
    }
    const study::CountConclusion end = study::conclude(answer, shared_context());
    CAPTURE(device);
    REQUIRE(end.change.has_value());
    CHECK(end.before == forward_ms(answer) + backward_ms(answer));
    CHECK(end.change->lever == CountLever::kTiles);
    CHECK(end.change->after == Approx(forward + backward));
    // Asked again with what is advised.
    question.q_tile = end.change->tiles.q_tile, question.kv_tile = end.change->tiles.kv_tile;
    const TilePair& tiles = end.change->backward_tiles.value();
    question.backward_q_tile = tiles.q_tile, question.backward_kv_tile = tiles.kv_tile;
    const study::CountAnswer again = study::count(question, shared_context());
    CHECK(forward_ms(again) + backward_ms(again) == end.change->after);
    const study::CountConclusion last = study::conclude(again, shared_context());
    if (last.change) CHECK(last.change->lever != CountLever::kTiles);
  }
}

TEST_CASE("Hunyuan on an H200 with good forward tiles is told to take other backward ones: 183 ms become 141") {
  study::CountQuestion question = video("h200");
  question.stride = {16, 8, 8};
  question.q_tile = question.kv_tile = {2, 8, 8};
  question.backward = true;
  const study::CountAnswer answer = study::count(question, shared_context());
  const study::CountConclusion end = study::conclude(answer, shared_context());
  REQUIRE(end.change.has_value());
  CHECK(end.change->tiles == answer.forward.problem.tiles);
  CHECK(*end.change->backward_tiles != answer.backward->problem.tiles);
  CHECK(end.before - end.change->after > 0.2 * backward_ms(answer));
}

}  // namespace backward_conclusion_test

// What a question of time leaves out is what `count` takes.
#include <string>

#include <natten_sim/study/count.hpp>
#include <natten_sim/study/time.hpp>

#include "catch.hpp"

namespace time_defaults_test {

using namespace natten_sim;
using study::MissingTime;
using study::PassTime;
using study::TimeQuestion;

/// A count of the same problem, which says nothing of tiles or element type.
study::CountQuestion counted(const std::string& kernel, const Extents& input, const Extents& window) {
  study::CountQuestion question;
  question.setting.device = "h200";
  question.setting.input = input;
  question.setting.heads = 24;
  question.setting.head_dim = 128;
  question.window = window;
  question.kernel = kernel;
  question.backward = true;
  return question;
}

TEST_CASE("what a question of time leaves out it takes as count does: tiles, and the element type") {
  const study::Context context = study::default_context();
  for (const char* kernel : {"hopper-fna", "flexattention", "gna", "cudnn"}) {
    for (const Extents& input : {Extents{4096}, Extents{128, 96}, Extents{30, 48, 80}}) {
      INFO(kernel << " on " << to_string(input));
      Extents window;
      const bool dense = std::string(kernel) == "cudnn";
      for (const std::int64_t size : input) window.push_back(dense ? size : size / 2);
      const study::CountAnswer count = study::count(counted(kernel, input, window), context);
      for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
        TimeQuestion question{.kernel = kernel, .device = "h200", .pass = pass};
        question.mask = make_mask(input, window, {});
        question.sizes = {.heads = 24, .heads_kv = 24, .head_dim = 128, .head_dim_value = 128};
        const study::TimeAnswer alone = study::time(question, context);
        const study::TimeAnswer& within = pass == Walk::kForward ? *count.time : *count.backward->time;
        REQUIRE(alone.index() == within.index());
        if (const auto* time = std::get_if<PassTime>(&alone)) {
          CHECK(time->total_ms == std::get<PassTime>(within).total_ms);
          CHECK(time->dense_ms == std::get<PassTime>(within).dense_ms);
        } else {
          CHECK(std::get<MissingTime>(alone).sentence == std::get<MissingTime>(within).sentence);
        }
      }
    }
  }
}

TEST_CASE("a shape that a question of time leaves out is taken beside the one that it has") {
  const study::Context context = study::default_context();
  TimeQuestion question{.kernel = "hopper-fna", .device = "h200"};
  question.mask = make_mask({128, 96}, {64, 48}, {});
  question.sizes = {.heads = 24, .heads_kv = 24, .head_dim = 128, .head_dim_value = 128};
  const TilePair tiles = study::resolved(question, context).tiles;
  REQUIRE_FALSE(tiles.q_tile.empty());
  question.tiles.q_tile = tiles.q_tile;
  CHECK(study::resolved(question, context).tiles.kv_tile.rank() == 2);
  question.tiles = {{7, 5}, {3, 2}};
  CHECK(study::resolved(question, context).tiles == question.tiles);
}

}  // namespace time_defaults_test

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/search.hpp>

#include "catch.hpp"

namespace flex_blocks_test {

using namespace natten_sim;
using study::MissingTime;
using study::PassTime;

study::CountQuestion flex_on(const char* device) {
  study::CountQuestion question;
  question.setting.device = device;
  question.setting.input = {30, 48, 80};
  question.setting.heads = 24;
  question.setting.head_dim = 128;
  question.setting.dtype = Dtype::kBf16;
  question.window = {18, 24, 24};
  question.kernel = "flexattention";
  return question;
}

study::CountAnswer counted(const study::CountQuestion& question) {
  return study::count(question, study::default_context());
}

/// What all blocks take, in microseconds of one SM: FlexAttention of head dim 128 on an H200.
double work_us(const TileCount& count) {
  const KernelCosts* costs = builtin_catalog().costs_of("flexattention", "h200", 128, Dtype::kBf16);
  const PassCosts& pass = *costs->costs_of(Walk::kForward);
  return static_cast<double>(count.full_tiles) * pass.unmasked_tile_us +
         static_cast<double>(count.partial_tiles()) * pass.masked_tile_us[2] +
         static_cast<double>(count.walked_tiles()) * pass.cta_us;
}

TEST_CASE("FlexAttention takes blocks of the size that was timed, as boxes that take the least time") {
  for (const Extents& window : {Extents{18, 24, 24}, Extents{2, 48, 80}, Extents{30, 5, 5}}) {
    study::CountQuestion question = flex_on("h200");
    question.window = window;
    const study::CountAnswer answer = counted(question);
    CHECK(product(answer.question.q_tile, "q_tile") == 128);
    CHECK(answer.question.kv_tile == answer.question.q_tile);
    CHECK(std::holds_alternative<PassTime>(*answer.time));
    for (const std::int64_t outer : {1, 2, 4, 8, 16}) {
      for (const std::int64_t middle : {1, 2, 4, 8}) {
        question.q_tile = question.kv_tile = {outer, middle, 128 / (outer * middle)};
        CHECK(work_us(counted(question).forward.count) >= work_us(answer.forward.count) * (1 - 1e-9));
      }
    }
  }
}

TEST_CASE("who names FlexAttention hears nothing of NATTEN's rules") {
  study::CountQuestion question = flex_on("h200");
  question.window = {1, 24, 24};  // NATTEN wants 2 or more
  const study::CountAnswer answer = counted(question);
  CHECK_FALSE(answer.kernel.refusal);
  CHECK_FALSE(answer.kernel.forward);
  CHECK(std::holds_alternative<PassTime>(*answer.time));
}

TEST_CASE("row-major blocks of several axes have the time of their blocks") {
  study::CountQuestion question = flex_on("h200");
  question.tiling = Tiling::kSingleDimensional;
  const study::CountAnswer answer = counted(question);
  CHECK(answer.question.q_tile == Extents{128});
  REQUIRE(std::holds_alternative<PassTime>(*answer.time));
  const PassTime& time = std::get<PassTime>(*answer.time);
  CHECK(time.permutation_ms == 0.0);  // tokens stay where they are
  const KernelCosts* costs = builtin_catalog().costs_of("flexattention", "h200", 128, Dtype::kBf16);
  const PassCosts& pass = *costs->costs_of(Walk::kForward);
  const TileCount& count = answer.forward.count;
  const double tiles_ms = 1e-3 * 24 / 132 * static_cast<double>(count.visited_tiles) * pass.unmasked_tile_us;
  CHECK(time.parts.tiles_ms == Approx(tiles_ms));
  const double masking_us = pass.masked_tile_us[2] - pass.unmasked_tile_us;
  CHECK(time.parts.masking_ms ==
        Approx(1e-3 * 24 / 132 * static_cast<double>(count.partial_tiles()) * masking_us));
  // NATTEN's kernels have no such tiling.
  question.kernel = "hopper-fna";
  CHECK(std::holds_alternative<MissingTime>(*counted(question).time));
}

TEST_CASE("dense FlexAttention reads tokens in a row, without boxes to pad") {
  study::CountQuestion question = flex_on("h200");
  question.setting.input = {13, 30, 45};  // 17,550 tokens: 138 blocks of 128 by 138
  question.window = {};
  const study::CountAnswer answer = counted(question);
  const PassTime& time = std::get<PassTime>(*answer.time);
  CHECK(time.ctas == 138 * 24);
  const KernelCosts* costs = builtin_catalog().costs_of("flexattention", "h200", 128, Dtype::kBf16);
  const double tile_us = costs->costs_of(Walk::kForward)->unmasked_tile_us;
  CHECK(time.parts.tiles_ms == Approx(1e-3 * 24 / 132 * 138 * 138 * tile_us));
}

TEST_CASE("a search for FlexAttention takes windows of 1, and blocks of 128 tokens where nobody timed it") {
  study::SearchQuestion question;
  question.setting = flex_on("a100").setting;
  question.kernels = {"flexattention"};
  question.window = {1, 24, 24};
  question.top = 20;
  const study::SearchAnswer answer = study::search(question, study::default_context());
  CHECK(answer.excluded.empty());
  REQUIRE_FALSE(answer.candidates.empty());
  for (const TileChoice& tiles : answer.question.tiles) {
    CHECK(product(tiles.tiles.q_tile, "q_tile") == 128);
    CHECK(product(tiles.tiles.kv_tile, "kv_tile") == 128);
  }
  // 128 = 2^7 over three axes: 9 over 2; less 64 and 128 of 30 tokens (2 + 1 boxes), and 128 of 48.
  CHECK(answer.question.tiles.size() == 36 - 3 - 1);
  question.kernels = {"hopper-fna"};
  question.setting.device = "h200";
  CHECK_THROWS_AS(study::search(question, study::default_context()), InvalidParameter);
}

}  // namespace flex_blocks_test

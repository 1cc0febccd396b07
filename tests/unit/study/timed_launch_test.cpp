// What one launch does: tiles under a diagonal, CTAs alone on their SM, FlexAttention's two kinds of CTAs.
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/study/time.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace timed_launch_test {

using namespace natten_sim;
using natten_sim::test::shared_context;

study::TimeQuestion question_of(const char* kernel, std::int64_t tokens, std::int64_t heads, Walk pass, bool causal) {
  study::TimeQuestion question{.kernel = kernel, .device = "h200"};
  question.mask = make_mask({tokens}, {tokens}, {}, {}, PerAxis<bool>(1, causal));
  question.tiles = {{128}, {128}};
  question.pass = pass;
  question.sizes = {.heads = heads, .heads_kv = heads, .head_dim = 128, .head_dim_value = 128};
  return question;
}

PassCosts costs_of(Walk pass, std::int64_t q_tile, std::int64_t kv_tile) {
  PassCosts costs;
  costs.pass = pass;
  costs.q_tile_tokens = q_tile;
  costs.kv_tile_tokens = kv_tile;
  costs.unmasked_tile_us = 2;
  costs.bounds_masked_tile_us = 2;
  costs.masked_tile_us = {3, 3, 3};
  costs.cta_us = 5;
  costs.slowdown_ms = 1;
  return costs;
}

TEST_CASE("a library's causal pass multiplies the tiles under the diagonal and masks those that it cuts") {
  // Q tile i of 128 rows: 2 i whole KV tiles of 64 keys, and 2 that the diagonal cuts.
  const LaunchWork forward = study::work_of(question_of("cudnn", 1024, 3, Walk::kForward, true),
                                            costs_of(Walk::kForward, 128, 64), shared_context());
  CHECK(forward.ctas == 3 * 8);
  CHECK(forward.unmasked_tiles == 3 * (0 + 2 + 4 + 6 + 8 + 10 + 12 + 14));
  CHECK(forward.masked_tiles == 3 * 8 * 2);
  // KV tile j of 128 keys: Q tiles of 64 rows from 2 j on, the first two cut.
  const LaunchWork backward = study::work_of(question_of("cudnn", 1024, 3, Walk::kBackward, true),
                                             costs_of(Walk::kBackward, 64, 128), shared_context());
  CHECK(backward.ctas == 3 * 8);
  CHECK(backward.unmasked_tiles == 3 * (14 + 12 + 10 + 8 + 6 + 4 + 2 + 0));
  CHECK(backward.masked_tiles == 3 * 8 * 2);
}

TEST_CASE("with as many SMs as CTAs a causal launch takes as long as its longest CTA") {
  const PassCosts costs = costs_of(Walk::kForward, 128, 64);
  for (const char* kernel : {"fa3", "cudnn", "fa4"}) {
    const LaunchWork work =
        study::work_of(question_of(kernel, 1024, 1, Walk::kForward, true), costs, shared_context());
    CHECK(launch_time(work, costs).total_ms == Approx(1e-3 * (5 + 14 * 2 + 2 * 3)));
  }
}

TEST_CASE("a causal sequence takes between half of a full one's time and all of it") {
  for (const char* kernel : {"fa2", "cudnn", "fa3", "fa4", "hopper-fmha"}) {
    for (const std::int64_t tokens : {512, 4096, 16384}) {
      INFO(kernel << " " << tokens);
      study::TimeQuestion question = question_of(kernel, tokens, 16, Walk::kForward, false);
      question.device = "h100";
      const double full = std::get<study::PassTime>(study::time(question, shared_context())).kernel_ms;
      question.mask[0].causal = true;
      const double causal = std::get<study::PassTime>(study::time(question, shared_context())).kernel_ms;
      CHECK(causal > 0.48 * full);
      CHECK(causal < 1.1 * full);
    }
  }
}

TEST_CASE("CTAs that are alone on their SM run faster than two beside each other, by the share that they get") {
  PassCosts costs = costs_of(Walk::kForward, 128, 128);
  costs.ctas_per_sm = 2;
  const auto waves = [&](std::int64_t heads) {  // a CTA a head
    return study::work_of(question_of("fa2", 128, heads, Walk::kForward, false), costs, shared_context()).waves;
  };
  CHECK(waves(132) == 1);
  costs.lone_share = 0.8;  // of what two have together: half of it would be as slow as beside another
  CHECK(waves(1) == Approx(0.5 / 0.8));
  CHECK(waves(132) == Approx(0.5 / 0.8));
  CHECK(waves(133) == 1);
  CHECK(waves(264) == 1);
  CHECK(waves(265) == Approx(1 + 0.5 / 0.8));
}

TEST_CASE("FlashAttention-2 shares the keys of few Q tiles among CTAs, as its rule has it") {
  const PassCosts costs = [] {
    PassCosts made = costs_of(Walk::kForward, 128, 64);
    made.ctas_per_sm = 2;
    made.lone_share = 1;
    return made;
  }();
  const auto work = [&](std::int64_t tokens, std::int64_t heads) {
    return study::work_of(question_of("fa2", tokens, heads, Walk::kForward, false), costs, shared_context());
  };
  // 2048 tokens: 32 Q tiles of 64 rows, 16 blocks of 128 keys, 264 slots. Eight splits fill 256 of them, 97%; seven
  // and six leave blocks as eight and six do: 6 * 32 = 192 are 73%, below 0.85 of the best.
  CHECK(work(2048, 1).ctas == 8 * 32);
  // 7 heads have 224 Q tiles, more than 0.8 * 264.
  CHECK(work(2048, 7).ctas == 7 * 16);
  CHECK(launch_time(work(2048, 1), costs).total_ms < launch_time(work(2048, 7), costs).total_ms);
}

TEST_CASE("FlashAttention-2 has a time for few Q tiles on devices where nobody measured it") {
  for (const char* device : {"h100", "a100", "rtx4090", "b200", "gb10"}) {
    for (const std::int64_t head_dim : {64, 128, 256}) {
      INFO(device << " " << head_dim);
      study::TimeQuestion question = question_of("fa2", 2048, 1, Walk::kForward, true);
      question.device = device;
      question.sizes.head_dim = question.sizes.head_dim_value = head_dim;
      CHECK(std::get<study::PassTime>(study::time(question, shared_context())).kernel_ms > 0);
    }
  }
}

TEST_CASE("FlexAttention's backward pass has CTAs of keys, with 4 of 7 products, and CTAs of queries") {
  const PassCosts costs = costs_of(Walk::kBackward, 128, 128);
  // Four blocks: the first keys are seen by 4 blocks of queries, the last queries see 4 blocks of keys.
  const LaunchWork work =
      study::work_of(question_of("flexattention", 512, 1, Walk::kBackward, true), costs, shared_context());
  CHECK(work.ctas == 4);
  CHECK(launch_time(work, costs).total_ms == Approx(1e-3 * 4 / 7 * (5 + 3 * 2 + 3)));
  // With many heads the workers share all work evenly, but for the last CTAs.
  const LaunchWork many =
      study::work_of(question_of("flexattention", 512, 13200, Walk::kBackward, true), costs, shared_context());
  const double busy_ms = 1e-3 * 100 * (4 * 5 + 6 * 2 + 4 * 3);
  CHECK(launch_time(many, costs).total_ms >= busy_ms);
  CHECK(launch_time(many, costs).total_ms <= busy_ms + 1e-3 * 4 / 7 * (5 + 3 * 2 + 3));
}

TEST_CASE("this project's kernel on sequences divides its last Q tiles, once there are more than SMs") {
  const PassCosts costs = costs_of(Walk::kForward, 128, 128);
  const auto waves = [&](std::int64_t tokens, std::int64_t heads) {
    return study::work_of(question_of("ours", tokens, heads, Walk::kForward, false), costs, shared_context()).waves;
  };
  CHECK(waves(4096, 4) == 1);    // 128 Q tiles: one wave, as many CTAs
  CHECK(waves(4096, 132) == 32);  // full rounds stay whole
  // 160 of 132: 28 more, and two and a half of 32 tiles for a part.
  CHECK(waves(4096, 5) == Approx(160.0 / 132 + 2.5 / 32));
  CHECK(waves(1024, 20) == 2);  // few keys: whole rounds
}

TEST_CASE("this project's kernel takes the longest Q tiles of a section of heads first") {
  // 128 heads, a section, of two Q tiles: 5 + 2 + 3 and 5 + 3 us. The long ones come first, one a worker, four of the
  // short ones beside them, and the others behind them.
  const PassCosts costs = costs_of(Walk::kForward, 128, 128);
  study::TimeQuestion question = question_of("ours", 256, 128, Walk::kForward, true);
  question.dtype = Dtype::kBf16;
  const LaunchWork work = study::work_of(question, costs, shared_context());
  CHECK(work.unmasked_tiles == 128);
  CHECK(work.masked_tiles == 2 * 128);
  CHECK(launch_time(work, costs).total_ms == Approx(1e-3 * (10 + 8)));
  question.dtype = Dtype::kFp16;  // looks for maxima in every tile
  CHECK(study::work_of(question, costs, shared_context()).masked_tiles == 3 * 128);
}

TEST_CASE("where nobody measured this project's kernel on sequences, its time is refused with the reason") {
  study::TimeQuestion question = question_of("ours", 2048, 1, Walk::kForward, true);
  question.device = "h100";
  const auto answer = study::time(question, shared_context());
  const auto* none = std::get_if<study::MissingTime>(&answer);
  REQUIRE(none != nullptr);
  CHECK(none->sentence.find("nobody has measured ours on h100 at head dim 128 forward") != std::string::npos);
}

}  // namespace timed_launch_test

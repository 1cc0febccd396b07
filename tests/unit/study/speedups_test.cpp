#include <natten_sim/study/advise.hpp>
#include <natten_sim/study/count.hpp>
#include <natten_sim/study/search.hpp>

#include "catch.hpp"

namespace speedups_test {

using namespace natten_sim;
using study::PassTime;

study::CountQuestion hunyuan() {
  study::CountQuestion question;
  question.setting.preset = "hunyuan-video";
  question.setting.device = "h200";
  question.window = {18, 24, 24};
  question.stride = {16, 8, 8};
  return question;
}

TEST_CASE("count and search have one end-to-end speedup, by the ratio of times") {
  const study::Context context = study::default_context();
  const study::CountAnswer counted = study::count(hunyuan(), context);
  const PassTime& time = std::get<PassTime>(*counted.time);
  REQUIRE(counted.end_to_end_by_time);
  // 1 / (1 - p + p (k + (1 - k) / s)), of which 15 of 50 steps stay dense
  const double share = *counted.question.setting.attention_share;
  CHECK(*counted.end_to_end_by_time ==
        Approx(1 / (1 - share + share * (0.3 + 0.7 * time.total_ms / *time.dense_ms))));
  CHECK_FALSE(counted.kernel.end_to_end);
  CHECK_FALSE(counted.kernel.forward->with_permutation);

  study::SearchQuestion question;
  question.setting = hunyuan().setting;
  question.window = hunyuan().window;
  question.stride = hunyuan().stride;
  question.q_tile = question.kv_tile = {4, 4, 8};
  const study::SearchAnswer found = study::search(question, context);
  REQUIRE(found.candidates.size() == 1);
  const study::SearchCandidate& candidate = found.candidates.front();
  CHECK(candidate.speedup == Approx(*time.dense_ms / time.total_ms));
  CHECK_FALSE(candidate.kernel.end_to_end);
}

TEST_CASE("count, search and advise tell one configuration's speedups alike, the preset's dense steps included") {
  const study::Context context = study::default_context();
  study::AdviseQuestion advised;
  advised.setting.preset = "hunyuan-video";
  advised.devices = {"h200"};
  const study::AdviseAnswer advice = study::advise(advised, context);
  for (const study::AdviceChoice& choice : advice.devices.at(0).choices) {
    const TilingProblem& problem = choice.count.forward.problem;
    study::CountQuestion question;
    question.setting.preset = "hunyuan-video";
    question.setting.device = "h200";
    question.window = window_of(problem.mask);
    question.stride = stride_of(problem.mask);
    question.q_tile = problem.tiles.q_tile;
    question.kv_tile = problem.tiles.kv_tile;
    const study::CountAnswer counted = study::count(question, context);
    CHECK(*choice.speedup == *std::get<PassTime>(*counted.time).speedup);
    CHECK(choice.end_to_end->speedup.value == Approx(*counted.end_to_end_by_time));
    // 15 of 50 steps stay dense, .607 of a step is attention.
    CHECK(*counted.end_to_end_by_time ==
          Approx(1 / (1 - 0.607 + 0.607 * (15 / 50.0 + 35 / 50.0 / *choice.speedup))));
    study::SearchQuestion searched;
    searched.setting = question.setting;
    searched.window = question.window;
    searched.stride = question.stride;
    searched.q_tile = question.q_tile;
    searched.kv_tile = question.kv_tile;
    const study::SearchAnswer found = study::search(searched, context);
    REQUIRE(found.candidates.size() == 1);
    CHECK(found.candidates.front().speedup == Approx(*choice.speedup));
  }
}

TEST_CASE("without a time speedups are ratios of tiles") {
  study::CountQuestion question = hunyuan();
  question.setting.device = std::nullopt;
  question.setting.backend = "hopper-fna";
  const study::CountAnswer answer = study::count(question, study::default_context());
  CHECK_FALSE(answer.end_to_end_by_time);
  REQUIRE(answer.kernel.end_to_end);
  // 921,600 dense tiles over 86,400.
  CHECK(answer.kernel.forward->speedup.mean == Approx(921600.0 / 86400));
}

/// Nobody has timed a dense kernel there.
study::Context without_dense_kernels() {
  study::Context context = study::default_context();
  std::erase_if(context.catalog.kernel_costs, [](const KernelCosts& costs) {
    return costs.kernel == "cudnn" || costs.kernel == "hopper-fmha" || costs.kernel.starts_with("fa");
  });
  return context;
}

TEST_CASE("FlexAttention without a dense kernel beside it is held against itself without a mask") {
  const study::Context context = without_dense_kernels();
  study::CountQuestion question;
  question.setting.preset = "cogvideox";
  question.setting.device = "h200";
  question.kernel = "flexattention";
  const study::CountAnswer dense = study::count(question, context);
  const PassTime& whole = std::get<PassTime>(*dense.time);
  CHECK(whole.dense_kernel == "flexattention without a mask");
  CHECK(*whole.speedup == Approx(1));

  question.window = {8, 16, 16};
  const study::CountAnswer windowed = study::count(question, context);
  const PassTime& time = std::get<PassTime>(*windowed.time);
  CHECK(*time.dense_ms == Approx(whole.total_ms));
  CHECK(*time.speedup == Approx(whole.total_ms / time.total_ms));
}

TEST_CASE("CogVideoX by FlexAttention has a ratio of times, not the 11.2 of its tiles") {
  const study::Context context = without_dense_kernels();
  study::CountQuestion question;
  question.setting.preset = "cogvideox";
  question.setting.device = "h200";
  question.kernel = "flexattention";
  question.window = {4, 12, 12};
  question.stride = {1, 12, 12};
  question.q_tile = question.kv_tile = {2, 8, 8};
  const study::CountAnswer windowed = study::count(question, context);
  // 13x30x45 tokens are 7x4x6 boxes of 128: 168^2 pairs of boxes.
  CHECK(windowed.forward.count.dense_tiles == 168 * 168);
  CHECK(windowed.forward.count.speedup_mean() == Approx(11.2));
  question.window = question.stride = question.q_tile = question.kv_tile = {};
  const study::CountAnswer dense = study::count(question, context);
  const PassTime& time = std::get<PassTime>(*windowed.time);
  const PassTime& whole = std::get<PassTime>(*dense.time);
  CHECK(*time.speedup == Approx(whole.total_ms / time.total_ms));
  // Dense attention has rows of 138^2 pairs, 7.56 times what is visited, and pairs without a mask cost less.
  CHECK(*time.speedup < 138.0 * 138 / static_cast<double>(windowed.forward.count.visited_tiles));
}

TEST_CASE("dense FlexAttention is charged row-major blocks, not padded boxes") {
  study::CountQuestion question;
  question.setting.preset = "cogvideox";
  question.setting.device = "h200";
  question.kernel = "flexattention";
  const study::CountAnswer boxes = study::count(question, study::default_context());
  const PassTime& time = std::get<PassTime>(*boxes.time);
  CHECK(time.total_ms == Approx(8.42).epsilon(0.02));  // as first reported, when padded boxes were charged 20
  question.setting.input = {13 * 30 * 45};
  const study::CountAnswer row = study::count(question, study::default_context());
  CHECK(row.forward.count.visited_tiles == 138 * 138);
  CHECK(time.total_ms == Approx(std::get<PassTime>(*row.time).total_ms));
}

TEST_CASE("FlexAttention is held against the fastest dense kernel that was timed") {
  study::CountQuestion question;
  question.setting.preset = "cogvideox";
  question.setting.device = "h200";
  question.kernel = "flexattention";
  const study::CountAnswer answer = study::count(question, study::default_context());
  const PassTime& time = std::get<PassTime>(*answer.time);
  CHECK(time.dense_kernel == "fa4");
  CHECK(*time.speedup < 1);  // 128 x 128 pairs of head dim 64 take 1.82 us (h200) against 1.07
}

TEST_CASE("search by time holds FlexAttention against its own dense time") {
  study::SearchQuestion question;
  question.setting.preset = "cogvideox";
  question.setting.device = "h200";
  question.kernels = {"flexattention"};
  question.window = {8, 16, 16};
  question.top = 3;
  const study::SearchAnswer answer = study::search(question, study::default_context());
  REQUIRE_FALSE(answer.candidates.empty());
  for (const study::SearchCandidate& candidate : answer.candidates)
    CHECK(candidate.speedup == Approx(*candidate.time->dense_ms / candidate.time->total_ms));
}

}  // namespace speedups_test

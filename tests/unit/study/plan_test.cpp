// A plan is held against sums worked from its parts: the times that study::time() gives, bytes and prices.
#include <algorithm>
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/model_data.hpp>
#include <natten_sim/study/plan.hpp>
#include <natten_sim/study/time.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace plan_test {

using namespace natten_sim;
using study::AdviseUse;
using study::GpuSplit;
using study::PassTime;
using study::PlanAnswer;
using study::PlanQuestion;
using natten_sim::test::shared_context;

PlanAnswer answered(const PlanQuestion& question) { return study::plan(question, shared_context()); }

/// HunyuanVideo by its published window, stride 16x8x8.
PlanQuestion hunyuan(const char* device = "h100") {
  PlanQuestion question;
  question.setting.preset = "hunyuan-video";
  question.setting.device = device;
  question.window = {18, 24, 24};
  question.stride = {16, 8, 8};
  return question;
}

PassTime time_of(const std::string& kernel, const NeighborhoodMask& mask, const TilePair& tiles, std::int64_t heads,
                 const char* device = "h100") {
  study::TimeQuestion question;
  question.kernel = kernel;
  question.device = device;
  question.mask = mask;
  question.tiles = tiles;
  question.sizes = {.batch = 1, .heads = heads, .heads_kv = heads, .head_dim = 128, .head_dim_value = 128,
                    .element_bytes = 2};
  return std::get<PassTime>(study::time(question, shared_context()));
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

TEST_CASE("Hunyuan on 8 H100s whose heads are split is the sum of its parts") {
  PlanQuestion question = hunyuan();
  question.gpus = 8;
  question.dollars_per_hour = 3;
  const PlanAnswer answer = answered(question);
  const NeighborhoodMask dense_mask = make_mask({30, 48, 80}, {30, 48, 80});
  const NeighborhoodMask sparse_mask = make_mask({30, 48, 80}, {18, 24, 24}, {16, 8, 8});
  const TilePair tiles = answer.sparse.attention.forward.problem.tiles;

  const std::string dense_kernel = answer.dense.attention.question.kernel.value();
  const PassTime dense = time_of(dense_kernel, dense_mask, {}, 3);
  const PassTime sparse = time_of("hopper-fna", sparse_mask, tiles, 3);
  CHECK(near(answer.dense.attention_ms.value, dense.total_ms));
  CHECK(near(answer.sparse.attention_ms.low, sparse.low_ms));
  CHECK(near(answer.sparse.attention_ms.high, sparse.high_ms));

  // Q, K, V and O of 115,200 tokens, 24 heads of 128 channels of 2 bytes: a GPU has 1/8 of the tokens of its 1/8
  // of the heads, and is sent 7/8 of what it needs. Over 450 GB/s, of which 65% to all are reached.
  const std::int64_t bytes = 4LL * 115200 * 24 * 128 * 2 / 64 * 7;
  CHECK(answer.sparse.communication_bytes == bytes);
  CHECK(answer.dense.communication_bytes == bytes);
  const double seconds = static_cast<double>(bytes) / 450e9;
  CHECK(near(answer.sparse.communication_ms.low, 1e3 * seconds));
  CHECK(near(answer.sparse.communication_ms.high, 1e3 * seconds / 0.65));
  CHECK(near(answer.sparse.communication_ms.value, 1e3 * seconds / 0.825));

  // Attention is 60.7% of the dense model: 60 layers of all 24 heads on one GPU, in eight equal parts.
  const double rest = 60 * time_of(dense_kernel, dense_mask, {}, 24).total_ms * (1 / 0.607 - 1) / 8;
  REQUIRE(answer.sparse.rest_ms);
  CHECK(near(answer.sparse.rest_ms->value, rest));
  const double sent = 1e3 * seconds / 0.825;
  const double dense_step = 60 * (dense.total_ms + sent) + rest, sparse_step = 60 * (sparse.total_ms + sent) + rest;
  CHECK(near(answer.dense.step_ms.value, dense_step));
  CHECK(near(answer.sparse.step_ms.value, sparse_step));

  // 50 steps, 15 of them dense.
  CHECK(near(answer.dense.seconds.value, 50 * dense_step / 1e3));
  CHECK(near(answer.sparse.seconds.value, (15 * dense_step + 35 * sparse_step) / 1e3));
  CHECK(near(answer.sparse.dollars->value, answer.sparse.seconds.value / 3600 * 8 * 3));
  CHECK(near(answer.speedup, answer.dense.seconds.value / answer.sparse.seconds.value));

  CHECK(answer.dense.memory.tensors == 4LL * 115200 * 3 * 128 * 2);
  CHECK(answer.dense.memory.weights == 60LL * 12 * 3072 * 3072 * 2);
  CHECK(answer.dense.memory.copies == 0);
  CHECK(answer.dense.memory.received == 0);
}

TEST_CASE("tokens are split on the axis with the smallest halos, and each GPU computes its slab with them") {
  PlanQuestion question = hunyuan();
  question.gpus = 8;
  question.split = GpuSplit::kSequence;
  const PlanAnswer answer = answered(question);
  // Windows of 18, 24 and 24 of 30, 48 and 80: the last axis reaches the smallest part of the layout.
  CHECK(answer.split_axis == 2);
  REQUIRE(answer.slabs.size() == 8);
  std::int64_t halo = 0, computed = 0;
  for (const AxisSlab& slab : answer.slabs) {
    halo = std::max(halo, slab.halo_tokens());
    computed = std::max(computed, slab.computed_tokens());
  }
  CHECK(answer.sparse.communication_bytes == halo * 30 * 48 * 2 * 24 * 128 * 2);
  CHECK(input_of(answer.sparse.attention.forward.problem.mask) == Extents{30, 48, computed});
  CHECK(answer.sparse.memory.received == answer.sparse.communication_bytes);
  CHECK(answer.sparse.memory.tensors == 4LL * 30 * 48 * 10 * 24 * 128 * 2);
  // Dense attention needs all other keys.
  CHECK(answer.dense.communication_bytes == 30LL * 48 * 70 * 2 * 24 * 128 * 2);
  CHECK(answer.dense.communication_bytes > answer.sparse.communication_bytes);
}

TEST_CASE("of unequal parts the GPU with the smallest receives most of dense attention's keys") {
  PlanQuestion question = hunyuan();
  question.gpus = 7;
  question.split = GpuSplit::kSequence;
  const PlanAnswer answer = answered(question);
  REQUIRE(answer.slabs.size() == 7);
  REQUIRE(answer.split_axis == 2);  // 80 columns, 12 for three GPUs and 11 for four
  CHECK(answer.slabs.front().own_tokens() == 12);
  CHECK(answer.slabs.back().own_tokens() == 11);
  CHECK(answer.dense.communication_bytes == 30LL * 48 * (80 - 11) * 2 * 24 * 128 * 2);
}

TEST_CASE("round a ring whole parts travel, and only what attention does not hide costs time") {
  PlanQuestion question = hunyuan();
  question.gpus = 8;
  question.split = GpuSplit::kRing;
  const PlanAnswer ring = answered(question);
  question.split = GpuSplit::kSequence;
  const PlanAnswer sequence = answered(question);
  CHECK(ring.sparse.communication_bytes % (30LL * 48 * 10 * 2 * 24 * 128 * 2) == 0);
  CHECK(ring.sparse.communication_bytes >= sequence.sparse.communication_bytes);
  CHECK(ring.dense.communication_bytes == sequence.dense.communication_bytes);
  // 1.2 GB of keys are sent in far less time than a dense layer takes.
  CHECK(ring.dense.communication_ms.value == 0);
  CHECK(ring.dense.step_ms.value < sequence.dense.step_ms.value);
  CHECK(ring.dense.memory.received == 2LL * 30 * 48 * 10 * 2 * 24 * 128 * 2);
}

TEST_CASE("training takes both passes once a sample, and three times the rest") {
  PlanQuestion question = hunyuan("h200");
  question.use = AdviseUse::kTraining;
  question.samples = 1000;
  question.setting.batch = 4;
  const PlanAnswer training = answered(question);
  question.use = AdviseUse::kInference;
  const PlanAnswer inference = answered(question);
  CHECK(training.steps == 1);
  CHECK(training.dense_steps == 0);
  CHECK(*training.question.passes == 1);
  REQUIRE(training.sparse.attention.backward);
  CHECK(near(training.sparse.rest_ms->value, 3 * inference.sparse.rest_ms->value));
  CHECK(near(training.sparse.seconds.value, 250 * training.sparse.step_ms.value / 1e3));
  CHECK(training.sparse.memory.tensors == 61 * inference.sparse.memory.tensors);
}

TEST_CASE("every preset has a shape, and the cost of the rest is that of the presets with a cited share") {
  const ModelShapes shapes = model_shapes();
  double least = 1e9, most = 0, product = 1;
  int cited = 0;
  for (const Preset& preset : shared_context().catalog.presets) {
    const auto shape = std::find_if(shapes.models.begin(), shapes.models.end(),
                                    [&](const ModelShape& each) { return each.preset == preset.name; });
    INFO(preset.name);
    REQUIRE(shape != shapes.models.end());
    CHECK_FALSE(shape->source.empty());
    if (!preset.attention_share) continue;
    double tokens = 1;
    for (const std::int64_t size : preset.layout) tokens *= static_cast<double>(size);
    const double channels = static_cast<double>(preset.heads * preset.head_dim);
    const double attention = 4 * tokens * tokens * channels;
    const double rest = 2 * tokens * static_cast<double>(shape->layer_weights);
    const double cost = (1 - *preset.attention_share) / *preset.attention_share * attention / rest;
    least = std::min(least, cost);
    most = std::max(most, cost);
    product *= cost;
    ++cited;
  }
  REQUIRE(cited == 3);
  CHECK(std::abs(shapes.rest_cost.low - least) < 5e-4);
  CHECK(std::abs(shapes.rest_cost.high - most) < 5e-4);
  CHECK(std::abs(shapes.rest_cost.value - std::cbrt(product)) < 5e-4);
}

TEST_CASE("without a cited share the rest comes from FLOPs, between the least and the most they cost elsewhere") {
  PlanQuestion question;
  question.setting.preset = "wan2-2-a14b-720p";
  question.setting.device = "h100";
  question.window = {21, 24, 24};
  const PlanAnswer answer = answered(question);
  CHECK(answer.rest == study::RestBasis::kFlops);
  // 2 x tokens x layers x (6 D^2 + 2 D F), D = 5120, F = 13824.
  const double flops = 2.0 * 75600 * 40 * (6.0 * 5120 * 5120 + 2.0 * 5120 * 13824);
  CHECK(near(*answer.rest_flops, flops));
  const ModelShapes shapes = model_shapes();
  const double attention_flops = 40 * 4.0 * 75600 * 75600 * 5120;
  CHECK(near(answer.dense.rest_ms->low,
             shapes.rest_cost.low * flops / attention_flops * 40 * answer.dense.attention_ms.low));
  CHECK(near(answer.dense.rest_ms->high,
             shapes.rest_cost.high * flops / attention_flops * 40 * answer.dense.attention_ms.high));
  CHECK(*answer.question.passes == 2);
  CHECK(answer.steps == 40);
  // FLOPs of one's own win.
  question.rest_flops = flops / 2;
  CHECK(near(answered(question).dense.rest_ms->value, answer.dense.rest_ms->value / 2));
}

TEST_CASE("every preset has a published share of attention, or one by FLOPs that plans take too") {
  const ModelShapes shapes = model_shapes();
  for (const Preset& preset : shared_context().catalog.presets) {
    CAPTURE(preset.name);
    const std::optional<study::PresetShare> share = study::attention_share_of(preset, shapes);
    REQUIRE(share.has_value());
    CHECK((share->basis == study::RestBasis::kShare) == preset.attention_share.has_value());
    if (preset.attention_share) CHECK(share->share.value == *preset.attention_share);
    CHECK((share->share.low <= share->share.value && share->share.value <= share->share.high));
  }
  PlanQuestion question;
  question.setting.preset = "wan2-2-a14b-720p";
  question.setting.device = "h100";
  question.window = {21, 24, 24};
  const PlanAnswer answer = answered(question);
  const Bounded share = study::attention_share_of(*answer.preset, shapes)->share;
  const double attention_ms = 40 * answer.dense.attention_ms.value;
  CHECK(near(share.value, attention_ms / (attention_ms + answer.dense.rest_ms->value)));
  // 298,844,160 weights a layer for 2 x 75,600 tokens x 5,120 channels; 2.645 times (1.382 .. 4.047) as long a FLOP.
  CHECK(near(share.value, 1 / (1 + 2.645 * 298844160 / (2.0 * 75600 * 5120))));
  CHECK(near(share.low, 1 / (1 + 4.047 * 298844160 / (2.0 * 75600 * 5120))));
  // A preset of a file has neither.
  Preset own = *answer.preset;
  own.name = "mine";
  CHECK_FALSE(study::attention_share_of(own, shapes).has_value());
}

TEST_CASE("without a window the sparse plan is the fastest that advise gives") {
  PlanQuestion question = hunyuan("h200");
  question.window = {};
  question.stride = {};
  const PlanAnswer answer = answered(question);
  study::AdviseQuestion asked;
  asked.setting.preset = "hunyuan-video";
  asked.devices = {"h200"};
  const study::AdviseAnswer advice = study::advise(asked, shared_context());
  const study::AdviceChoice& fastest = advice.devices.front().choices.front();
  CHECK(answer.question.window == window_of(fastest.count.forward.problem.mask));
  CHECK(answer.question.stride == stride_of(fastest.count.forward.problem.mask));
  CHECK(near(answer.sparse.attention_ms.value, fastest.total_ms));
}

TEST_CASE("a plan that makes no sense is refused by name") {
  PlanQuestion question = hunyuan();
  question.gpus = 5;
  CHECK_THROWS_AS(answered(question), InvalidParameter);  // 24 heads
  question.gpus = 81;
  question.split = GpuSplit::kSequence;
  CHECK_THROWS_AS(answered(question), InvalidParameter);  // tokens of an axis
  question = hunyuan();
  question.setting.device.reset();
  CHECK_THROWS_AS(answered(question), InvalidParameter);
  question = hunyuan();
  question.layers = 0;
  CHECK_THROWS_AS(answered(question), InvalidParameter);
}

}  // namespace plan_test

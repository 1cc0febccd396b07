#include <algorithm>
#include <optional>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/study/msda.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace msda_test {

using namespace natten_sim;
using study::Context;
using study::MsdaAnswer;
using study::MsdaPass;
using study::MsdaQuestion;
using natten_sim::test::shared_context;

/// 8 x 6 and 4 x 3 pixels, 60 queries of 2 heads x 2 levels x 2 points.
MsdaQuestion small_question() {
  MsdaQuestion question;
  question.config = {.name = "small",
                     .batch = 1,
                     .height = 64,
                     .width = 48,
                     .strides = {8, 16},
                     .channels = 64,
                     .heads = 2,
                     .points = 2};
  return question;
}

TEST_CASE("gradients add up in the type of the tensors unless told otherwise, or in fp32") {
  struct Case {
    std::optional<Dtype> tensors, accumulator;
    Dtype both[2];
  };
  for (const Case& one :
       {Case{{}, {}, {Dtype::kBf16, Dtype::kBf16}}, Case{Dtype::kFp16, {}, {Dtype::kFp16, Dtype::kFp16}},
        Case{Dtype::kFp32, {}, {Dtype::kFp32, Dtype::kFp32}},
        Case{{}, Dtype::kFp16, {Dtype::kFp16, Dtype::kFp16}},
        Case{{}, Dtype::kFp32, {Dtype::kBf16, Dtype::kFp32}},
        Case{Dtype::kFp16, Dtype::kFp32, {Dtype::kFp16, Dtype::kFp32}}}) {
    MsdaQuestion question = small_question();
    question.dtype = one.tensors;
    question.accumulator = one.accumulator;
    const MsdaQuestion resolved = study::msda(question, shared_context()).question;
    CHECK(resolved.dtype == one.both[0]);
    CHECK(resolved.accumulator == one.both[1]);
  }
  MsdaQuestion question = small_question();
  question.dtype = Dtype::kFp32;
  question.accumulator = Dtype::kBf16;
  CHECK_THROWS_AS(study::msda(question, shared_context()), InvalidParameter);
}

TEST_CASE("several dispatch orders in one question are answered as each of them alone") {
  MsdaQuestion question = small_question();
  question.phase = MsdaPhase::kBackward;
  question.l2_bytes = 2000;  // so that orders differ
  question.orders = values_of<QueryOrder>();
  const MsdaAnswer all = study::msda(question, shared_context());
  REQUIRE(all.passes.size() == question.orders.size());
  for (std::size_t i = 0; i < all.passes.size(); ++i) {
    MsdaQuestion alone = question;
    alone.orders = {question.orders[i]};
    const MsdaPass pass = study::msda(alone, shared_context()).passes.front();
    INFO(to_string(pass.order));
    CHECK(all.passes[i].order == question.orders[i]);
    CHECK(pass.traffic.l2_misses == all.passes[i].traffic.l2_misses);
    CHECK(pass.time.time_ns == all.passes[i].time.time_ns);
  }
  question.orders.clear();
  CHECK_THROWS_AS(study::msda(question, shared_context()), InvalidParameter);
}

TEST_CASE("an answer from known traffic is that of the simulation") {
  MsdaQuestion question = small_question();
  question.phase = MsdaPhase::kBackward;
  const MsdaAnswer simulated = study::msda(question, shared_context());
  const MsdaTraffic traffic = simulate_msda(question.config, question.sampling, QueryOrder::kLinear,
                                            study::msda_cache(question, shared_context()));
  const MsdaAnswer known = study::msda_from_traffic(question, {traffic}, shared_context());
  CHECK(known.passes.front().time.time_ns == simulated.passes.front().time.time_ns);
  CHECK(known.passes.front().bytes == simulated.passes.front().bytes);
  CHECK(known.peak_bytes == simulated.peak_bytes);
  CHECK_THROWS_AS(study::msda_from_traffic(question, {}, shared_context()), InvalidParameter);
}

TEST_CASE("a backward pass updates what a forward pass reads") {
  MsdaQuestion question = small_question();
  const MsdaPass forward = study::msda(question, shared_context()).passes.front();
  CHECK_FALSE(forward.updates.has_value());
  question.phase = MsdaPhase::kBackward;
  const MsdaPass backward = study::msda(question, shared_context()).passes.front();
  REQUIRE(backward.updates.has_value());
  CHECK(backward.updates->load.updates == forward.traffic.reads);
  CHECK(backward.updates->load.width == 32);
  CHECK_FALSE(backward.updates->remedies.has_value());
  CHECK_FALSE(backward.unique_sectors.has_value());
  // 60 queries x 2 heads x 2 levels x 2 points x 32 channels, 10 and 26 operations each.
  CHECK(forward.flops == 60 * 8 * 32 * 10);
  CHECK(backward.flops == 60 * 8 * 32 * 26);
}

TEST_CASE("DRAM bytes of one pixel: its granule, the parameters and the output, and backward the gradients too") {
  // One query of 8 heads x 1 level x 2 points at one pixel of 16 bf16: 16 weights, 32 coordinates.
  MsdaQuestion question;
  question.config = {.name = "pixel",
                     .batch = 1,
                     .height = 1,
                     .width = 1,
                     .strides = {1},
                     .channels = 16,
                     .heads = 8,
                     .points = 2};
  question.device = "h100";  // the paper's kernels, which fetch whole pixels
  question.sampling = {.offsets = OffsetDistribution::kUniform, .spread = 0, .seed = 0};
  question.details = {.addresses = true, .remedies = true};
  const MsdaPass forward = study::msda(question, shared_context()).passes.front();
  CHECK(forward.traffic.reads == 16);
  CHECK(forward.unique_sectors == 1);  // 8 heads x 2 channels x 2 bytes
  CHECK(forward.bytes == 32 + (16 + 32) * 2 + 16 * 2);
  question.phase = MsdaPhase::kBackward;
  question.accumulator = Dtype::kFp32;
  const MsdaPass backward = study::msda(question, shared_context()).passes.front();
  // The parameters' gradients, and that of the pixel in fp32, read and written back.
  CHECK(backward.bytes == forward.bytes + (16 + 32) * 2 + 2 * 64);
  CHECK(backward.updates->words == 16);  // fp32
  CHECK(backward.updates->remedies->size() > 3);
  // Remedies were judged as kernels of their own, not within this one.
  for (const Remedy& remedy : *backward.updates->remedies) CHECK_FALSE(remedy.interval.has_value());
}

TEST_CASE("peak memory follows the phase and the accumulator") {
  MsdaQuestion question = small_question();
  const MsdaMemory memory = msda_memory(question.config, Dtype::kBf16);
  CHECK(study::msda(question, shared_context()).peak_bytes == memory.forward_peak_bytes);
  question.phase = MsdaPhase::kBackward;
  CHECK(study::msda(question, shared_context()).peak_bytes == memory.backward_native_bytes);
  question.accumulator = Dtype::kFp32;
  CHECK(study::msda(question, shared_context()).peak_bytes == memory.backward_fp32_accumulator_bytes);
}

TEST_CASE("a device with costs is answered for with this project's kernel, its error beside") {
  MsdaQuestion question = small_question();
  const MsdaAnswer ours = study::msda(question, shared_context());
  CHECK(ours.own_kernel);
  CHECK(ours.kernel.borrowed_from.empty());
  REQUIRE(ours.error.has_value());
  CHECK(ours.error->outside.empty());
  CHECK(ours.error->unfitted_points > 0);
  CHECK(ours.error->unfitted_mean_ratio >= 1);
  CHECK(ours.error->unfitted_worst_ratio >= ours.error->unfitted_mean_ratio);
  question.config.points = 20;
  CHECK(study::msda(question, shared_context()).error->outside == std::vector<std::string>{"points"});
  question.device = "h100";
  const MsdaAnswer paper = study::msda(question, shared_context());
  CHECK_FALSE(paper.own_kernel);
  CHECK_FALSE(paper.error.has_value());
}

TEST_CASE("a construct and an accumulator say how this project's kernel adds") {
  MsdaQuestion question = small_question();
  question.phase = MsdaPhase::kBackward;
  const auto time = [&] { return study::msda(question, shared_context()).passes.front().time.time_ns; };
  const auto same = [&](MsdaUpdate update, std::optional<std::string> construct,
                        std::optional<Dtype> accumulator) {
    question.update = update;
    question.construct.reset();
    question.accumulator = accumulator;
    const double asked = time();
    question.update.reset();
    question.construct = construct;
    return asked == time();
  };
  CHECK(same(MsdaUpdate::kRed16, std::nullopt, std::nullopt));
  CHECK(same(MsdaUpdate::kRed4, "ptx-red-relaxed-bf16x2", std::nullopt));
  CHECK(same(MsdaUpdate::kScalar, "cuda-atomicadd-bfloat16", std::nullopt));
  CHECK(same(MsdaUpdate::kAtom, "cuda-atomicadd-bfloat162", std::nullopt));
  CHECK(same(MsdaUpdate::kAccumulator, std::nullopt, Dtype::kFp32));
}

TEST_CASE("an L2 of the question's own replaces the device's") {
  MsdaQuestion question = small_question();
  const MsdaCache device = study::msda_cache(question, shared_context());
  question.l2_bytes = device.rows_per_granule * 64 * 10;  // rows of 32 bf16
  CHECK(study::msda_cache(question, shared_context()).capacity_granules == 10);
}

TEST_CASE("a device without MSDA kernels is refused by name") {
  Context context = study::default_context();
  Device own = context.catalog.device("h200");
  own.name = "own";
  context.catalog.devices.push_back(own);
  MsdaQuestion question = small_question();
  question.device = "own";
  CHECK(study::msda(question, context).passes.size() == 1);
  context.catalog.devices.back().msda_costs.reset();
  CHECK_THROWS_AS(study::msda(question, context), InvalidParameter);
  question.device = "b200";
  CHECK_THROWS_AS(study::msda(question, context), InvalidParameter);
}

}  // namespace msda_test

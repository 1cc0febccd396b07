// Plans of two more models against a pencil: bytes, tokens and FLOPs are worked out here, attention by study::time().
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/plan.hpp>
#include <natten_sim/study/time.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace plan_models_test {

using namespace natten_sim;
using study::PassTime;
using study::PlanAnswer;
using study::PlanQuestion;
using natten_sim::test::shared_context;

struct Call {
  std::string kernel, device;
  NeighborhoodMask mask;
  std::int64_t heads = 1;
  Walk pass = Walk::kForward;
  TilePair tiles = {};
};

double ms_of(const Call& call) {
  study::TimeQuestion question;
  question.kernel = call.kernel;
  question.device = call.device;
  question.mask = call.mask;
  question.tiles = call.tiles;
  question.pass = call.pass;
  question.sizes = {.batch = 1, .heads = call.heads, .heads_kv = call.heads, .head_dim = 128, .head_dim_value = 128,
                    .element_bytes = 2};
  return std::get<PassTime>(study::time(question, shared_context())).total_ms;
}

constexpr double kSent = 0.825 * 450e9;  // bytes a second: the middle of 65% and all of NVLink's 450 GB/s

TEST_CASE("Wan 2.1 on 4 H200s by sequence: halos of 20 columns, two guided passes, 10 videos in dollars") {
  PlanQuestion question;
  question.setting.preset = "wan2-1-14b-720p";
  question.setting.device = "h200";
  question.window = {12, 24, 24};
  question.stride = {4, 8, 8};
  question.gpus = 4;
  question.split = study::GpuSplit::kSequence;
  question.samples = 10;
  question.dollars_per_hour = 4;
  const PlanAnswer answer = study::plan(question, shared_context());

  // 80 columns are 4 x 20. Columns 20 to 39 are in stride groups 16..23 to 32..39, whose leaders 20 and 36 reach 12 back
  // and 11 on: columns 8 to 47. Frames or rows would send more: 21 and 45 do not hold as few foreign tokens.
  CHECK(answer.split_axis == 2);
  CHECK(answer.slabs.at(1).attended == TokenRange{8, 48});
  const std::int64_t token_bytes = 40 * (128 + 128) * 2;  // K and V of 40 heads in fp16
  CHECK(answer.sparse.communication_bytes == 20LL * 21 * 45 * token_bytes);
  CHECK(answer.dense.communication_bytes == 60LL * 21 * 45 * token_bytes);
  const double sent = 1e3 * 20 * 21 * 45 * token_bytes / kSent;
  CHECK(answer.sparse.communication_ms.value == Approx(sent));

  const TilePair tiles = answer.sparse.attention.forward.problem.tiles;
  const double sparse = ms_of({"hopper-fna", "h200", make_mask({21, 45, 40}, {12, 24, 24}, {4, 8, 8}), 40, Walk::kForward, tiles});
  CHECK(answer.sparse.attention_ms.value == Approx(sparse));
  const std::string kernel = answer.dense.attention.question.kernel.value();
  const double part = ms_of({kernel, "h200", make_mask({21, 45, 20}, {21, 45, 20}), 40});
  CHECK(answer.dense.attention_ms.value == Approx(4 * part));  // a part of the queries meets four of keys

  // 6 D^2 of projections and 2 D F of the MLP; a FLOP of it takes 2.645 times as long as one of dense attention.
  const double weights = 6.0 * 5120 * 5120 + 2.0 * 5120 * 13824, tokens = 21 * 45 * 80;
  const double whole = ms_of({kernel, "h200", make_mask({21, 45, 80}, {21, 45, 80}), 40});
  const double rest = 2 * tokens * weights / (4 * tokens * tokens * 5120) * 2.645 * 40 * whole / 4;
  CHECK(answer.sparse.rest_ms->value == Approx(rest));
  CHECK(answer.sparse.step_ms.value == Approx(2 * (40 * (sparse + sent) + rest)));
  const double seconds = 10 * 50 * 2 * (40 * (sparse + sent) + rest) / 1e3;
  CHECK(answer.sparse.seconds.value == Approx(seconds));
  CHECK(answer.sparse.dollars->value == Approx(seconds / 3600 * 4 * 4));
  CHECK(answer.sparse.memory.tensors == 4LL * 21 * 45 * 20 * 40 * 128 * 2);
  CHECK(answer.sparse.memory.received == 20LL * 21 * 45 * token_bytes);
  CHECK(static_cast<double>(answer.sparse.memory.weights.value()) == 40 * weights * 2);
}

TEST_CASE("an epoch of FLUX on a ring of 4 H100s: K and V come three times, hidden behind both passes") {
  PlanQuestion question;
  question.setting.preset = "flux1-dev-4k";
  question.setting.device = "h100";
  question.window = {80, 80};
  question.stride = {16, 16};
  question.gpus = 4;
  question.split = study::GpuSplit::kRing;
  question.use = study::AdviseUse::kTraining;
  question.samples = 1000;
  const PlanAnswer answer = study::plan(question, shared_context());

  // Rows 64 to 127 reach rows 32 to 159, which lie on the part before and the part after: 2 x 64 rows travel.
  CHECK(answer.split_axis == 0);
  CHECK(answer.slabs.at(1).attended == TokenRange{32, 160});
  const std::int64_t token_bytes = 24 * (128 + 128) * 2;
  CHECK(answer.sparse.communication_bytes == 3LL * 2 * 64 * 256 * token_bytes);
  CHECK(answer.dense.communication_bytes == 3LL * 3 * 64 * 256 * token_bytes);

  const study::CountAnswer& call = answer.sparse.attention;
  const NeighborhoodMask slab = make_mask({128, 256}, {80, 80}, {16, 16});
  const double sparse =
      ms_of({"hopper-fna", "h100", slab, 24, Walk::kForward, call.forward.problem.tiles}) +
      ms_of({"hopper-fna", "h100", slab, 24, Walk::kBackward, call.backward.value().problem.tiles});
  CHECK(answer.sparse.attention_ms.value == Approx(sparse));
  const double sent = 1e3 * static_cast<double>(answer.sparse.communication_bytes) / kSent;
  REQUIRE(sent < sparse);
  CHECK(answer.sparse.communication_ms.value == 0);

  // Attention has 51.8% of a dense pass; backward takes twice what forward does.
  const std::string kernel = answer.dense.attention.question.kernel.value();
  const double whole = ms_of({kernel, "h100", make_mask({256, 256}, {256, 256}), 24});
  const double rest = 3 * 57 * whole * (1 / 0.518 - 1) / 4;
  CHECK(answer.sparse.rest_ms->value == Approx(rest));
  CHECK(answer.sparse.step_ms.value == Approx(57 * sparse + rest));
  CHECK(answer.sparse.seconds.value == Approx((57 * sparse + rest)));  // 1,000 samples in milliseconds each
  // Q, K, V and O of all layers, and the gradients of one.
  CHECK(answer.sparse.memory.tensors == 58LL * 4 * 64 * 256 * 24 * 128 * 2);
  CHECK(answer.sparse.memory.received == 2LL * 64 * 256 * token_bytes);  // one part at work, the next one coming
  // 57 layers of 12 x 3072^2 parameters: 2 bytes of weight and 2 of gradient in fp16, 12 of Adam.
  const std::int64_t parameters = 57LL * 12 * 3072 * 3072;
  CHECK(answer.sparse.memory.weights == 2 * parameters);
  CHECK(answer.sparse.memory.gradients == 2 * parameters);
  CHECK(answer.sparse.memory.optimizer == 12 * parameters);
  const std::int64_t activations = answer.sparse.memory.tensors + answer.sparse.memory.copies + answer.sparse.memory.received;
  CHECK(answer.sparse.memory.total() == activations + 16 * parameters);
}

TEST_CASE("a plan's parameters and optimizer state may be given, and inference has no state") {
  PlanQuestion question;
  question.setting.preset = "flux1-dev-4k";
  question.setting.device = "h100";
  question.window = {80, 80};
  question.parameters = 12'000'000'000;
  const PlanAnswer inference = study::plan(question, shared_context());
  CHECK(inference.sparse.memory.weights == 24'000'000'000);
  CHECK_FALSE(inference.sparse.memory.gradients);
  CHECK_FALSE(inference.sparse.memory.optimizer);
  question.use = study::AdviseUse::kTraining;
  question.optimizer_bytes = 2;  // moments of 8 bits, no copy
  CHECK(study::plan(question, shared_context()).dense.memory.optimizer == 24'000'000'000);
  question.optimizer_bytes = -1;
  CHECK_THROWS_AS(study::plan(question, shared_context()), InvalidParameter);
  question.optimizer_bytes = 12;
  question.parameters = 0;
  CHECK_THROWS_AS(study::plan(question, shared_context()), InvalidParameter);
}

}  // namespace plan_models_test

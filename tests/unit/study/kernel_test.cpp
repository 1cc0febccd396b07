// study::count's kernel: what NATTEN does, where the mask needs something else.
#include <cmath>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/count.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace kernel_test {

using namespace natten_sim;
using study::CountAnswer;
using study::CountQuestion;
using natten_sim::test::shared_context;

CountQuestion question(const char* backend, Extents input, Extents window) {
  CountQuestion question;
  question.setting.backend = backend;
  question.setting.input = input;
  question.window = window;
  return question;
}

/// Equal but for rounding.
struct Near {
  explicit Near(double value) : expected(value) {}
  double expected;
  friend bool operator==(double value, const Near& other) {
    return std::abs(value - other.expected) <= 1e-12 * std::abs(other.expected);
  }
};

CountAnswer answer_of(const CountQuestion& question) { return study::count(question, shared_context()); }

TEST_CASE("a dilated group that is a token shorter is launched in full by hopper-fna") {
  // 33 tokens, dilation 2: groups of 17 and 16. Tiles of 16: the mask needs 2 + 1 Q tiles, the kernel 2 each;
  // and 4 + 1 visits against 4 + 2.
  CountQuestion dilated = question("hopper-fna", {33}, {8});
  dilated.dilation = {2};
  dilated.q_tile = dilated.kv_tile = {16};
  const CountAnswer answer = answer_of(dilated);
  CHECK(answer.forward.count.q_tiles == 3);
  CHECK(answer.forward.count.visited_tiles == 5);
  CHECK(answer.kernel.forward->attention.visits.launched_tiles == 4);
  CHECK(answer.kernel.forward->attention.visits.empty_tiles == 1);
  CHECK(answer.kernel.forward->attention.visits.visited_tiles == 6);
  CHECK(answer.kernel.forward->speedup.mean == 9.0 / 6);
  CHECK(answer.kernel.refusal->parameter == "q_tile_shape, kv_tile_shape");  // not among hopper-fna's pairs

  dilated.setting.backend.reset();  // tiles of a textbook: nobody spoke of NATTEN
  CHECK_FALSE(answer_of(dilated).kernel.call.has_value());
  CHECK_FALSE(answer_of(dilated).kernel.refusal.has_value());
}

TEST_CASE("cutlass-fna streams on a grid of its own forward, and on the fixed one backward") {
  CountQuestion both = question("cutlass-fna", {100}, {20});
  both.backward = true;
  const CountAnswer answer = answer_of(both);
  CHECK(answer.forward.problem.kv_tiling == KvTiling::kDynamic);
  CHECK(answer.backward->problem.kv_tiling == KvTiling::kStatic);
  CHECK(answer.forward.problem.tiles == TilePair{{64}, {64}});  // NATTEN's default, not the first of the list
  CHECK(answer.backward->problem.tiles == TilePair{{64}, {64}});
  // Token by token: Q tiles 0..63 and 64..99 see keys 0..72 and 54..99. From their own first key: 2 and 1
  // tiles. KV tiles 0..63 and 64..99 are seen by queries 0..73 and 55..99, on the grid of 64: 2 and 2 tiles.
  CHECK(answer.kernel.forward->attention.visits.visited_tiles == 2 + 1);
  CHECK(answer.kernel.backward->attention.visits.visited_tiles == 2 + 2);
}

TEST_CASE("tiles that are not given are NATTEN's own defaults") {
  for (const auto& [backend, layout, tiles] : std::vector<std::tuple<const char*, Extents, TilePair>>{
           {"cutlass-fna", {64, 64}, {{8, 8}, {8, 8}}},
           {"cutlass-fna", {64, 64, 64}, {{4, 4, 4}, {4, 4, 4}}},
           {"blackwell-fna", {64, 64}, {{16, 16}, {16, 8}}},
           {"blackwell-fna", {64, 64, 64}, {{8, 4, 8}, {4, 4, 8}}},
           {"flex-fna", {64, 64}, {{8, 8}, {8, 8}}}}) {
    INFO(backend << " " << to_string(layout));
    CHECK(answer_of(question(backend, layout, Extents(layout.rank(), 16))).forward.problem.tiles == tiles);
  }
}

TEST_CASE("a window that covers the input is one dense call with the dense kernel's tiles") {
  CountQuestion dense = question("cutlass-fna", {16, 100}, {16, 100});
  dense.setting.device = "h100";
  dense.setting.head_dim = 128;
  const CountAnswer answer = answer_of(dense);
  const study::KernelPass& pass = answer.kernel.forward.value();
  CHECK(pass.dense_path);
  CHECK(std::string(study::name_of(pass.attention)) == "hopper-fmha");  // the best that the device has
  CHECK(pass.attention.tiles == TilePair{{128}, {128}});
  CHECK(pass.attention.visits.launched_tiles == 13);  // ceil(1600 / 128)
  CHECK(pass.attention.visits.visited_tiles == 13 * 13);
  CHECK(pass.speedup.mean == 1);
  CHECK(pass.speedup.worst == 1);
  CHECK(pass.permutation->bytes == 0);
  CHECK(pass.natten_fast_path);
}

TEST_CASE("additional keys are a second dense pass, or join the dense call") {
  CountQuestion more = question("hopper-fna", {64, 64}, {16, 16});
  more.setting.head_dim = 128;
  more.setting.add_kv = 300;
  const CountAnswer answer = answer_of(more);
  const study::KernelPass& pass = answer.kernel.forward.value();
  REQUIRE(pass.additional.has_value());
  CHECK(std::string(study::name_of(*pass.additional)) == "hopper-fmha");
  CHECK(pass.additional->visits.visited_tiles == 32 * 3);  // 4096 / 128 Q tiles, ceil(300 / 128) KV tiles
  CHECK(pass.additional->mma_pairs == 32 * 3 * 128 * 128);
  // All pairs over the multiplied ones, of both kernels.
  const double multiplied = static_cast<double>(pass.attention.mma_pairs + pass.additional->mma_pairs);
  CHECK(pass.speedup.work == 4096.0 * (4096 + 300) / multiplied);

  more.window = {64, 64};
  const study::KernelPass dense = answer_of(more).kernel.forward.value();
  CHECK(dense.dense_path);
  CHECK_FALSE(dense.additional.has_value());
  CHECK(dense.attention.visits.visited_tiles == 32 * 35);  // ceil(4396 / 128)
}

TEST_CASE("NATTEN masks all visited tiles or none, FlexAttention the partial ones") {
  CountQuestion flux = question("blackwell-fna", {256, 256}, {80, 80});
  flux.stride = {16, 16};
  const study::KernelPass sparse = answer_of(flux).kernel.forward.value();
  CHECK(sparse.natten_fast_path);
  CHECK(masking_of(sparse.attention.visits) == Masking::kNone);
  flux.stride = {1, 1};
  const CountAnswer masked = answer_of(flux);
  CHECK_FALSE(masked.kernel.forward->natten_fast_path);
  CHECK(masked.kernel.forward->attention.visits.masked_tiles == masked.forward.count.visited_tiles);
  CHECK(masked.forward.count.full_tiles > 0);
  flux.setting.backend = "flex-fna";
  const CountAnswer flex = answer_of(flux);
  CHECK(flex.kernel.forward->attention.visits.masked_tiles == flex.forward.count.partial_tiles());
}

TEST_CASE("copies are bytes, and a device's bandwidth makes them a time that speedups count") {
  CountQuestion flux = question("hopper-fna", {256, 256}, {80, 80});
  flux.stride = {16, 16};
  flux.setting.head_dim = 64;  // no time is predicted
  flux.setting.heads = 24;
  flux.setting.attention_share = 0.5;
  const CountAnswer unnamed = answer_of(flux);
  // 65,536 tokens, nothing to pad: Q, K, V in and O out, each read and written, and the log-sum-exp out.
  const std::int64_t bytes = 24LL * 65536 * 2 * (4 * 64 * 2 + 4);
  CHECK(unnamed.kernel.forward->permutation->bytes == bytes);
  CHECK_FALSE(unnamed.kernel.forward->floors.has_value());
  CHECK_FALSE(unnamed.kernel.forward->with_permutation.has_value());

  flux.setting.device = "h200";  // 4.3 TB/s; cuDNN 486 TFLOP/s at head dim 64
  study::Context measured = shared_context();
  measured.catalog.physics = {};
  std::erase_if(measured.catalog.kernel_costs, [](const KernelCosts& costs) { return costs.head_dim == 64; });
  const study::KernelAnswer kernel = study::count(flux, measured).kernel;
  const double copies_ms = 1e3 * static_cast<double>(bytes) / 4.3e12;
  const double dense_ms = 1e3 * 4 * 64 * 24 * 65536.0 * 65536 / 486e12;
  CHECK(kernel.forward->floors->permutation_ms == Near(copies_ms));
  CHECK(kernel.forward->floors->dense_rate == "cudnn");
  CHECK(kernel.forward->floors->dense_ms.value() == Near(dense_ms));
  // 50 of 512 KV tiles, 16x8 tokens each.
  const double alone = 512.0 / 50;
  const double with_copies = dense_ms / (dense_ms / alone + copies_ms);
  CHECK(kernel.forward->speedup.mean == Near(alone));
  CHECK(kernel.forward->with_permutation->mean == Near(with_copies));
  CHECK(kernel.end_to_end->mean == Near(1 / (0.5 + 0.5 / with_copies)));
}

TEST_CASE("where times are predicted, their ratio takes the place of speedups by tiles with copies") {
  CountQuestion flux = question("hopper-fna", {256, 256}, {80, 80});
  flux.stride = {16, 16};
  flux.setting.head_dim = 128;
  flux.setting.heads = 24;
  flux.setting.attention_share = 0.5;
  flux.setting.device = "h200";
  const CountAnswer answer = answer_of(flux);
  const auto& time = std::get<study::PassTime>(answer.time.value());
  const study::KernelPass& kernel = *answer.kernel.forward;
  CHECK(kernel.floors->dense_rate == "time");
  CHECK(kernel.floors->dense_ms.value() == time.dense_ms.value());
  CHECK(kernel.floors->permutation_ms == time.permutation_ms.value());
  CHECK_FALSE(kernel.with_permutation);
  CHECK_FALSE(answer.kernel.end_to_end);
  CHECK(answer.end_to_end_by_time.value() == Near(1 / (0.5 + 0.5 / time.speedup.value())));

  flux.kernel = "flexattention";  // the times are not of what NATTEN runs
  CHECK(answer_of(flux).kernel.forward->floors->dense_rate == "cudnn");
}

TEST_CASE("what NATTEN refuses has the rule instead of a kernel") {
  CountQuestion narrow = question("hopper-fna", {64, 64}, {1, 16});
  const study::KernelAnswer kernel = answer_of(narrow).kernel;
  REQUIRE(kernel.refusal.has_value());
  CHECK(kernel.refusal->rule == "kernel sizes are 2 or more");
  CHECK(kernel.refusal->parameter == "kernel_size");
  CHECK_FALSE(kernel.forward.has_value());
  narrow.window = {2, 16};
  narrow.setting.device = "b200";
  CHECK(answer_of(narrow).kernel.refusal->parameter == "compute_capability");
}

TEST_CASE("four axes, one-dimensional tiles and dynamic tiles of hopper-fna are no calls of NATTEN") {
  CHECK_FALSE(answer_of([] {
                CountQuestion four = question("blackwell-fna", {8, 8, 8, 8}, {2, 2, 2, 2});
                four.q_tile = four.kv_tile = {2, 2, 2, 2};
                return four;
              }())
                  .kernel.call.has_value());
  CountQuestion single = question("hopper-fna", {64, 64}, {16, 16});
  single.tiling = Tiling::kSingleDimensional;
  CHECK_FALSE(answer_of(single).kernel.call.has_value());
  CountQuestion dynamic = question("hopper-fna", {64, 64}, {16, 16});
  dynamic.kv_tiling = KvTiling::kDynamic;
  CHECK_FALSE(answer_of(dynamic).kernel.call.has_value());
}

TEST_CASE("fp8 runs forward on blackwell-fna alone") {
  CountQuestion fp8 = question("blackwell-fna", {64, 64}, {16, 16});
  fp8.setting.dtype = Dtype::kE4m3;
  CHECK(answer_of(fp8).kernel.forward.has_value());
  fp8.backward = true;
  CHECK_THROWS_AS(answer_of(fp8), InvalidParameter);
  fp8.backward = false;
  for (const char* backend : {"hopper-fna", "cutlass-fna", "flex-fna"}) {
    INFO(backend);
    fp8.setting.backend = backend;
    CHECK_THROWS_AS(answer_of(fp8), InvalidParameter);
  }
}

TEST_CASE("FlexAttention runs the backward pass with the forward blocks") {
  CountQuestion flex = question("flex-fna", {64, 64}, {16, 16});
  flex.backward = true;
  const CountAnswer answer = answer_of(flex);
  CHECK(answer.backward->problem.tiles == answer.forward.problem.tiles);
  REQUIRE(answer.kernel.backward.has_value());
  CHECK(answer.kernel.backward->attention.visits.masked_tiles == answer.backward->count.partial_tiles());
}

}  // namespace kernel_test

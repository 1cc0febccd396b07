// The CPU oracle against softmax worked out by hand, and the checks around it.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/kernels/attention_forward/attention_engine.hpp>
#include <natten_sim/kernels/stream/stream.hpp>

#include "catch.hpp"

namespace attention_oracle_test {

using namespace natten_sim;
using namespace natten_sim::kernels;

TEST_CASE("attention to one key is its value") {
  const std::vector<float> q(16, 1.f), k(16, 0.5f),
      v = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const AttentionRow row = attention_row_oracle(q, k, v, Dtype::kBf16);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(row.exact[i] == static_cast<double>(v[i]));
    CHECK(row.naive[i] == static_cast<double>(v[i]));
  }
}

TEST_CASE("two keys are weighed by the exponentials of their scaled scores") {
  // Scores q.k / sqrt(4) = 1 and 0: weights e / (e + 1) and 1 / (e + 1).
  const std::vector<float> q = {2, 0, 0, 0}, k = {1, 0, 0, 0, 0, 1, 0, 0}, v = {1, 0, 0, 0, 0, 1, 0, 0};
  const AttentionRow row = attention_row_oracle(q, k, v, Dtype::kFp16);
  const double e = std::exp(1.0);
  CHECK(std::abs(row.exact[0] - e / (e + 1)) < 1e-15);
  CHECK(std::abs(row.exact[1] - 1 / (e + 1)) < 1e-15);
  // Rounded to 11 bits of mantissa, and not to more.
  CHECK(std::abs(row.naive[0] - row.exact[0]) < 0x1p-11);
  CHECK(row.naive[0] != row.exact[0]);
}

TEST_CASE("every attention variant of the table fits the shared memory of sm_90 as often as it says") {
  std::set<std::string> seen;
  for (const AttentionTiles& tiles : attention_tiles()) {
    // 228 KiB an SM, 1 KiB of it reserved for each CTA (CUDA programming guide, compute capability 9.0).
    CHECK(tiles.max_ctas_per_sm * (tiles.shared_memory_bytes() + 1024) <= 228 * 1024);
    // Warps of 16 rows each; of the wgmma engine four besides, that fetch tiles.
    const int idle = tiles.engine == AttentionEngine::kWgmma ? 4 : 0;
    CHECK(tiles.q_tile % (16 * (tiles.warps - idle)) == 0);
    CHECK(seen.insert(std::to_string(tiles.head_dim) + " " + std::to_string(tiles.q_tile) + " " +
                      std::to_string(tiles.kv_tile) + " " + std::to_string(tiles.stages) + " " +
                      to_string(tiles.engine))
              .second);
    AttentionProblem problem;
    problem.tokens = 1000;
    problem.head_dim = tiles.head_dim;
    AttentionVariant variant{tiles.q_tile, tiles.kv_tile, tiles.stages, 1};
    variant.engine = tiles.engine;
    CHECK(&require_valid(problem, variant) == &tiles);
  }
}

TEST_CASE("the table's wgmma tiles are those of attention_forward's best kernels, and of nothing else") {
  std::set<std::int64_t> head_dims;
  for (const AttentionTiles& tiles : attention_tiles()) {
    if (tiles.engine != AttentionEngine::kWgmma) continue;
    AttentionProblem problem;
    problem.tokens = 1000;
    problem.head_dim = tiles.head_dim;
    AttentionVariant variant{tiles.q_tile, tiles.kv_tile, tiles.stages, 1};
    variant.engine = tiles.engine;
    const attention_forward::KernelShape shape = attention_forward::shape_of(problem, variant);
    CHECK(shape.q_tile + 64 == 16 * tiles.warps);
    head_dims.insert(tiles.head_dim);
    variant.kv_tile += 16;
    CHECK_THROWS_AS(attention_forward::shape_of(problem, variant), InvalidParameter);
    variant.kv_tile -= 16;
    variant.schedule = CtaSchedule::kTile;
    CHECK_THROWS_AS(require_valid(problem, variant), InvalidParameter);
    CHECK_THROWS_AS(attention_forward::schedule_of(variant), InvalidParameter);
  }
  CHECK(head_dims == std::set<std::int64_t>{64, 96, 128, 160, 192, 256});
}

TEST_CASE("impossible problems and variants are refused by name") {
  const auto refused = [](AttentionProblem problem, AttentionVariant variant) -> std::string {
    try {
      (void)require_valid(problem, variant);
    } catch (const Error& error) {
      return error.parameter();
    }
    return "";
  };
  AttentionProblem problem;
  problem.tokens = 100;
  CHECK(refused(problem, {}) == "");
  CHECK(refused({1, 1, 1, 0, 128}, {}) == "tokens");
  CHECK(refused({0, 1, 1, 1, 128}, {}) == "batch");
  CHECK(refused({1, 3, 2, 1, 128}, {}) == "heads_kv");
  CHECK(refused({1, 3, 4, 1, 128}, {}) == "heads_kv");
  CHECK(refused({1, 1, 1, 1, 80}, {}) == "tiles");
  CHECK(refused(problem, {128, 65}) == "tiles");
  CHECK(refused(problem, {128, 64, 1, 3}) == "ctas_per_sm");
  CHECK(refused({1 << 20, 1 << 20, 1, 1 << 24, 128}, {}) != "");
}

TEST_CASE("grids have a CTA a slot, an item, or a pair of items of one head") {
  AttentionProblem problem;
  problem.heads = 3;
  problem.tokens = 128 * 5;
  AttentionVariant variant;
  CHECK(grid_size(problem, variant, 4) == 8);
  CHECK(grid_size(problem, variant, 132) == 15);
  variant.schedule = CtaSchedule::kGrid;
  CHECK(grid_size(problem, variant, 4) == 15);
  variant.schedule = CtaSchedule::kTile;
  CHECK(grid_size(problem, variant, 4) == 9);
}

TEST_CASE("random elements have mean 0 and variance 1 and depend on seed and place") {
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random_element(7, i);
    sum += value;
    squares += value * value;
  }
  CHECK(std::abs(sum / kCount) < 0.02);  // 6 standard errors
  CHECK(std::abs(squares / kCount - 1) < 0.02);
  CHECK(random_element(7, 1) != random_element(7, 2));
  CHECK(random_element(7, 1) != random_element(8, 1));
  CHECK(random_element(7, 1) == random_element(7, 1));
}

TEST_CASE("sampled rows hold the ends of the first and last head, sorted, each once") {
  AttentionProblem problem;
  problem.heads = 3;
  problem.tokens = 1000;
  const std::vector<std::int64_t> rows = sampled_rows(problem, 20, 5);
  for (std::size_t i = 1; i < rows.size(); ++i) CHECK(rows[i - 1] < rows[i]);
  for (const std::int64_t row : {0, 999, 2000, 2999}) CHECK(std::count(rows.begin(), rows.end(), row) == 1);
  problem.tokens = 5;
  CHECK(sampled_rows(problem, 20, 5).size() == 15);
}

TEST_CASE("the stream's sum is that of its words times its passes") {
  CHECK(stream_oracle({kStreamStepBytes, 3, 1}, {1, 2, 0xffffffffu}) == 6);
  CHECK_THROWS_AS(require_valid(StreamProblem{kStreamStepBytes + 16, 1, 1}), InvalidParameter);
  CHECK_THROWS_AS(require_valid(StreamProblem{kStreamStepBytes, 0, 1}), InvalidParameter);
  CHECK_THROWS_AS(require_valid(StreamProblem{kStreamStepBytes, 1, 1, KvOrder::kCyclic, -1}),
                  InvalidParameter);
}

TEST_CASE("without a GPU every entrance says so, and does not crash") {
  try {
    (void)open_gpu();
  } catch (const HardwareAbsent& absent) {
    CHECK(std::string(absent.what()).starts_with("this needs a CUDA GPU, but "));
  }
}

}  // namespace attention_oracle_test

// The CPU oracle of attention forward against cases worked by hand, and what is refused. Needs no GPU.
#include <cmath>
#include <cstring>
#include <limits>

#include <natten_sim/kernels/attention_forward/oracle.hpp>

#include "catch.hpp"

namespace attention_forward_oracle_test {

using namespace natten_sim;
using namespace natten_sim::kernels::attention_forward;

std::uint16_t bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>(bits >> 16);  // of values that need no rounding
}

bool near(double value, double expected) { return std::abs(value - expected) < 1e-12; }

Problem small_problem(std::int64_t tokens) {
  Problem problem;
  problem.q_tokens = problem.kv_tokens = tokens;
  problem.head_dim = 64;
  problem.q = problem.k = problem.v = problem.o = heads_first(1, tokens, 64);
  return problem;
}

/// K of zeros, so that all scores are equal; V's column 0 is the token's number.
HostTensors equal_scores(std::int64_t tokens) {
  const auto count = static_cast<std::size_t>(tokens * 64);
  HostTensors tensors{std::vector<std::uint16_t>(count, bf16(1)), std::vector<std::uint16_t>(count, 0),
                      std::vector<std::uint16_t>(count, 0)};
  for (std::int64_t token = 0; token < tokens; ++token) {
    tensors.v[static_cast<std::size_t>(token * 64)] = bf16(static_cast<float>(token));
  }
  return tensors;
}

TEST_CASE(
    "with equal scores O is the mean of the values that a query sees, LSE the logarithm of their number") {
  Problem problem = small_problem(10);
  const HostTensors tensors = equal_scores(10);
  const ReferenceRow full = reference_row(problem, tensors, 0, 0, 3);
  CHECK(near(full.o[0], 4.5));
  CHECK(near(full.lse, std::log(10.0)));
  problem.mask = Band{std::nullopt, 0};
  const ReferenceRow causal = reference_row(problem, tensors, 0, 0, 3);  // keys 0..3
  CHECK(near(causal.o[0], 1.5));
  CHECK(near(causal.lse, std::log(4.0)));
  problem.mask = Band{2, 1};
  CHECK(near(reference_row(problem, tensors, 0, 0, 3).o[0], 2.5));  // keys 1..4
  CHECK(near(reference_row(problem, tensors, 0, 0, 9).o[0], 8.0));  // keys 7..9
}

TEST_CASE("a neighborhood's window is shifted inwards at the borders") {
  Problem problem = small_problem(12);
  problem.mask = Neighborhood{make_mask({3, 4}, {3, 2}), {16, 8}, {16, 8}, {}};
  // Query (0, 0) sees all 3 rows and columns 0, 1: tokens 0 1 4 5 8 9.
  CHECK(near(reference_row(problem, equal_scores(12), 0, 0, 0).o[0], 4.5));
}

TEST_CASE("two keys weigh as the exponentials of their scaled scores") {
  Problem problem = small_problem(2);
  HostTensors tensors = equal_scores(2);
  tensors.k[64] = bf16(1);  // key 1: score 1 * scale
  problem.scale = 0.5;
  const ReferenceRow row = reference_row(problem, tensors, 0, 0, 0);
  CHECK(near(row.o[0], std::exp(0.5) / (1 + std::exp(0.5))));
  CHECK(near(row.lse, std::log(1 + std::exp(0.5))));
}

TEST_CASE("queries before the first key have no output and a log-sum-exp of minus infinity") {
  Problem problem = small_problem(4);
  problem.kv_tokens = 2;
  problem.mask = Band{std::nullopt, 0};
  HostTensors tensors = equal_scores(4);
  const ReferenceRow row = reference_row(problem, tensors, 0, 0, 1);  // diagonal at key -1
  CHECK(row.o[0] == 0);
  CHECK(row.lse == -std::numeric_limits<double>::infinity());
  CHECK(near(reference_row(problem, tensors, 0, 0, 2).lse, 0.0));
}

TEST_CASE("additional keys are keys of every query, in the same softmax") {
  Problem problem = small_problem(12);
  problem.mask = Neighborhood{make_mask({3, 4}, {3, 2}), {16, 8}, {16, 8}, {}};
  problem.extra_tokens = 2;
  problem.extra_k = problem.extra_v = heads_first(1, 2, 64);
  HostTensors tensors = equal_scores(12);
  tensors.extra_k.assign(2 * 64, 0);
  tensors.extra_v.assign(2 * 64, 0);
  tensors.extra_v[0] = bf16(100);
  tensors.extra_v[64] = bf16(200);
  // Query (0, 0): tokens 0 1 4 5 8 9 of the layout, and two more keys.
  const ReferenceRow row = reference_row(problem, tensors, 0, 0, 0);
  CHECK(near(row.o[0], (27.0 + 300) / 8));
  CHECK(near(row.lse, std::log(8.0)));
  // A score of 1 * scale for the second.
  tensors.extra_k[64] = bf16(1);
  problem.scale = 0.5;
  CHECK(near(reference_row(problem, tensors, 0, 0, 0).o[0],
             (27 + 100 + 200 * std::exp(0.5)) / (7 + std::exp(0.5))));
}

TEST_CASE("a fourth axis is the outermost one") {
  Problem problem = small_problem(16);
  problem.mask = Neighborhood{make_mask({4, 1, 2, 2}, {2, 1, 2, 1}), {1, 2, 8, 8}, {1, 2, 8, 8}, {}};
  // Query (3, 0, 0, 1): places 2 and 3 of the first axis, both of the third, its own of the last.
  CHECK(near(reference_row(problem, equal_scores(16), 0, 0, 13).o[0], (9 + 11 + 13 + 15) / 4.0));
}

TEST_CASE("problems out of range are refused by name") {
  const auto refused = [](const char* parameter, auto change) {
    Problem problem = small_problem(16);
    change(problem);
    try {
      require_valid(problem);
    } catch (const InvalidParameter& error) {
      return error.parameter() == parameter;
    }
    return false;
  };
  CHECK(refused("heads_kv", [](Problem& p) {
    p.heads = 4;
    p.heads_kv = 3;
  }));
  CHECK(refused("scale", [](Problem& p) { p.scale = 0; }));
  CHECK(refused("scale", [](Problem& p) { p.scale = -1; }));
  CHECK(refused("q", [](Problem& p) { p.q.token = 63; }));
  CHECK(refused("left", [](Problem& p) { p.mask = Band{-1, 0}; }));
  CHECK(refused("q_tokens", [](Problem& p) {
    p.mask = Neighborhood{make_mask({4, 5}, {2, 2}), {16, 8}, {16, 8}, {}};
  }));
  CHECK(refused("extra_tokens", [](Problem& p) {  // a sequence: append them
    p.extra_tokens = 8;
    p.extra_k = p.extra_v = heads_first(1, 8, 64);
  }));
  CHECK(refused("extra_k", [](Problem& p) {
    p.mask = Neighborhood{make_mask({4, 4}, {2, 2}), {16, 8}, {16, 8}, {}};
    p.extra_tokens = 8;
  }));
  CHECK(refused("q_tile", [](Problem& p) {
    p.mask = Neighborhood{make_mask({2, 2, 2, 2}, {2, 2, 2, 2}), {2, 2, 4, 8}, {1, 2, 8, 8}, {}};
  }));
  CHECK_NOTHROW(require_valid(small_problem(16)));
  Problem odd = small_problem(16);
  odd.head_dim = 72;
  CHECK_THROWS_AS(best_kernel(odd), InvalidParameter);
}

}  // namespace attention_forward_oracle_test

#include "cases.hpp"

#include <span>
#include <utility>

namespace natten_sim::bench {
namespace {

using backward::KernelShape;
using backward::Problem;
using backward::Turns;

std::string describe(const KernelShape& shape) {
  return "hd" + std::to_string(shape.head_dim) + (shape.dtype == Dtype::kFp16 ? " fp16 " : " bf16 ") +
         std::to_string(shape.q_tile) + "x" + std::to_string(shape.kv_tile) + " " +
         (shape.engine == kernels::AttentionEngine::kMmaSync ? to_string(shape.engine)
                                                             : backward::to_string(shape.pipeline)) +
         (shape.pairs ? " pairs" : "");
}

}  // namespace

Case make_case(const KernelShape& kernel, std::int64_t heads, std::int64_t heads_kv, std::int64_t q_tokens,
               std::int64_t kv_tokens, const backward::Band& mask, const std::string& algorithm,
               const std::string& what) {
  Case made;
  made.problem.heads = heads;
  made.problem.heads_kv = heads_kv;
  made.problem.q_tokens = q_tokens;
  made.problem.kv_tokens = kv_tokens;
  made.problem.head_dim = kernel.head_dim;
  made.problem.dtype = kernel.dtype;
  made.problem.mask = mask;
  made.kernel = kernel;
  made.algorithm = algorithm;
  made.name = describe(kernel) + " " + what + " " + algorithm;
  return made;
}

namespace {

const backward::Band kFull{}, kCausal{std::nullopt, 0};

void add_every_kernel(std::vector<Case>& cases) {
  for (const KernelShape& kernel : backward::built_kernels()) {
    cases.push_back(make_case(kernel, 1, 1, kernel.q_tile, 128, kFull, "ascending", "one tile"));
    cases.push_back(make_case(kernel, 1, 1, 256, 128, kFull, "ascending", "one chain"));
    cases.push_back(make_case(kernel, 1, 1, 128, 256, kFull, "ascending", "two chains"));
    cases.push_back(make_case(kernel, 2, 2, 1000, 1000, kFull, "shift", "full 1000"));
    if (kernel.pairs) {
      for (Case& last : std::span(cases).last(4))
        last.problem.pairs = random_pairs(last.problem.q_tokens, last.problem.kv_tokens, 1);
      cases.back().algorithm = "best";
      cases.back().name += " of random pairs";
    }
    cases.push_back(make_case(kernel, 3, 3, 777, 777, kCausal, "descending", "causal 777"));
    cases.back().problem.batch = 2;
    cases.back().padding = 77;
    if (kernel.pairs) cases.back().problem.pairs = random_pairs(777, 777, 2);
    if (kernel.head_dim == 64) continue;
    cases.push_back(make_case(kernel, 4, 2, 900, 1300, kFull, "ascending", "head dim 96, gqa 900x1300"));
    cases.back().problem.head_dim = 96;
    cases.back().padding = 9;
    if (kernel.pairs) cases.back().problem.pairs = random_pairs(900, 1300, 3);
  }
}

/// Both rules of drawing, whatever a launch would choose.
void add_draws(std::vector<Case>& cases) {
  for (const KernelShape& kernel : backward::built_kernels()) {
    for (const char* algorithm : {"ascending", "descending", "spt"}) {
      for (const auto& [draws, what] : {std::pair{backward::Draws::kEarly, "drawn early, "},
                                        std::pair{backward::Draws::kInTime, "drawn in time, "}}) {
        cases.push_back(make_case(kernel, 5, 5, 1300, 1300, kCausal, algorithm, what));
        Case& made = cases.back();
        made.workers = 20;
        made.repeats = 10;
        made.delay_ns = 3000;
        made.draws = draws;
        if (kernel.pairs) made.problem.pairs = random_pairs(1300, 1300, 4);
      }
    }
  }
}

void add_problems(std::vector<Case>& cases, const KernelShape& kernel) {
  for (const std::int64_t tokens : {1, 2, 15, 63, 64, 65, 127, 128, 129, 255, 257, 640}) {
    cases.push_back(
        make_case(kernel, 2, 1, tokens, tokens, kCausal, "spt", "causal gqa " + std::to_string(tokens)));
    cases.back().padding = 200;
    cases.push_back(
        make_case(kernel, 2, 2, tokens, 300, kFull, "ascending", "full " + std::to_string(tokens) + "x300"));
    cases.back().padding = 200;
  }
  cases.push_back(make_case(kernel, 8, 2, 600, 1500, kCausal, "descending", "causal gqa 600x1500"));
  cases.push_back(
      make_case(kernel, 8, 2, 1500, 600, kCausal, "descending", "causal 1500x600, rows without keys"));
  cases.push_back(make_case(kernel, 4, 2, 2000, 2000, {300, 0}, "best", "window 300,0"));
  cases.push_back(make_case(kernel, 4, 2, 2000, 2500, {100, 50}, "best", "window 100,50 2000x2500"));
  cases.push_back(make_case(kernel, 4, 4, 1024, 1024, {0, 0}, "ascending", "window 0,0"));
  cases.push_back(make_case(kernel, 4, 4, 1024, 1024, kFull, "shift", "scale 0.5"));
  cases.back().problem.scale = 0.5;
  cases.push_back(make_case(kernel, 4, 4, 1024, 1024, kFull, "shift", "scale 1e-3"));
  cases.back().problem.scale = 1e-3;
}

/// GQA both ways: chains of a query head, and of a group.
void add_groups(std::vector<Case>& cases, const KernelShape& kernel) {
  for (const bool grouped : {false, true}) {
    const std::string what = grouped ? "gqa by group, " : "gqa by head, ";
    const auto add = [&](std::int64_t heads, std::int64_t heads_kv, std::int64_t q_tokens,
                         std::int64_t kv_tokens, const backward::Band& mask, const std::string& algorithm) {
      cases.push_back(make_case(kernel, heads, heads_kv, q_tokens, kv_tokens, mask, algorithm,
                                what + std::to_string(heads) + "/" + std::to_string(heads_kv) + " " +
                                    std::to_string(q_tokens) + "x" + std::to_string(kv_tokens)));
      Case& made = cases.back();
      made.grouped = grouped;
      made.repeats = 10;
      made.delay_ns = 3000;
      if (kernel.pairs) made.problem.pairs = random_pairs(q_tokens, kv_tokens, 7);
    };
    add(8, 2, 1000, 1000, kCausal, "spt");
    add(8, 1, 777, 1300, kFull, "ascending");
    add(6, 3, 2048, 2048, kCausal, "best");
    cases.back().problem.batch = 2;
    add(12, 4, 900, 600, {300, 100}, "best");
    cases.back().workers = 5;
  }
}

void add_orders(std::vector<Case>& cases, const KernelShape& kernel) {
  for (const bool causal : {false, true}) {
    for (const std::string algorithm : {"ascending", "descending", "spt", "shift", "shift+spread", "symmetric-shift",
                                        "symmetric-shift+spread", "best"}) {
      // The symmetric shift takes Q tiles that a KV tile holds a whole number of.
      if ((!causal || kernel.q_tile == 80) && algorithm.starts_with("symmetric-shift")) continue;
      for (const std::int32_t workers : {5, 132}) {
        cases.push_back(
            make_case(kernel, 6, 6, 2048, 2048, causal ? kCausal : kFull, algorithm,
                      std::string(causal ? "causal" : "full") + " 2048 on " + std::to_string(workers)));
        cases.back().workers = workers;
        cases.back().repeats = 20;
        cases.back().delay_ns = 3000;
        Case unordered = cases.back();
        unordered.name += ", unordered";
        unordered.turns = Turns::kUnordered;
        unordered.repeats = 5;
        cases.push_back(std::move(unordered));
      }
    }
  }
}

void add_long(std::vector<Case>& cases, const KernelShape& kernel) {
  cases.push_back(make_case(kernel, 4, 4, 4096, 4096, kFull, "shift", "full 4096, 200 repeats"));
  cases.push_back(make_case(kernel, 4, 4, 4096, 4096, kCausal,
                            kernel.q_tile == 80 ? "best" : "symmetric-shift", "causal 4096, 200 repeats"));
  for (Case& last : std::span(cases).last(2)) {
    last.repeats = 200;
    last.noise = true;
  }
  cases.push_back(make_case(kernel, 1, 1, 16384, 16384, kFull, "shift", "full 16384"));
  cases.push_back(make_case(kernel, 1, 1, 16384, 16384, kCausal, "spt", "causal 16384"));
}

/// Everything for one engine's kernel of a head dimension, and for its kernel that takes pairs.
void add_engine(std::vector<Case>& cases, kernels::AttentionEngine engine, std::int64_t head_dim) {
  Problem problem;
  problem.head_dim = head_dim;
  const KernelShape kernel = backward::best_kernel(problem, engine);
  add_problems(cases, kernel);
  add_orders(cases, kernel);
  add_groups(cases, kernel);
  add_long(cases, kernel);
  for (backward::KernelShape shape : backward::built_kernels()) {
    if (!shape.pairs || shape.head_dim != head_dim || shape.dtype != Dtype::kBf16 || shape.engine != engine)
      continue;
    add_masks(cases, shape, head_dim);
    add_groups(cases, shape);
  }
}

/// Head dimension 96, in the kernel of 128.
void add_padded(std::vector<Case>& cases, kernels::AttentionEngine engine) {
  KernelShape padded;
  padded.engine = engine;
  for (const bool causal : {false, true}) {
    cases.push_back(make_case(padded, 4, 4, 2048, 2048, causal ? kCausal : kFull, causal ? "spt" : "shift",
                              "head dim 96, 2048, 20 repeats"));
    cases.back().problem.head_dim = 96;
    cases.back().repeats = 20;
    cases.back().delay_ns = 3000;
  }
  padded.pairs = true;
  add_masks(cases, padded, 96);
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_every_kernel(cases);
  add_draws(cases);
  for (const auto engine : {kernels::AttentionEngine::kWgmma, kernels::AttentionEngine::kMmaSync}) {
    for (const std::int64_t head_dim : {128, 64}) add_engine(cases, engine, head_dim);
    add_padded(cases, engine);
  }
  KernelShape wide;
  wide.q_tile = 80;
  wide.pipeline = backward::Pipeline::kWaitsLate;
  add_problems(cases, wide);
  add_orders(cases, wide);
  add_long(cases, wide);
  return cases;
}

}  // namespace natten_sim::bench

// Known backward kernels: tiles and orders as their sources have them, times as the model adds them up.
#include <natten_sim/core/error.hpp>
#include <natten_sim/study/kernel_schedule.hpp>

#include "catch.hpp"

namespace kernel_schedule_test {

using namespace natten_sim;

study::KernelScheduleQuestion fa4_question(std::int64_t tokens, std::int64_t head_dim, ScheduleMask mask) {
  study::KernelScheduleQuestion question;
  question.kernel = "fa4";
  question.device = "h200";
  question.q_tokens = tokens;
  question.head_dim = head_dim;
  question.heads = static_cast<std::int32_t>(2048 / head_dim);
  question.batch = static_cast<std::int32_t>(16384 / tokens);
  question.mask = std::move(mask);
  return question;
}

const ScheduleMask kAllPairs{FullMask{}};
const ScheduleMask kLowerHalf{CausalMask{}};

TEST_CASE(
    "a chain of one task takes prologue, compute and epilogue, and the call adds launch and other kernels") {
  study::Context context = study::default_context();
  ScheduleCostSet costs = context.catalog.schedule_cost_set("fa4-h200-d64");
  costs.name = "mine";
  costs.slowdown = 0;
  costs.launch_us = 5;
  costs.other_bytes_per_s = 1e9;
  for (TaskCosts& tasks : costs.tasks) {
    tasks.compute_us = tasks.compute_partial_us = 2;
    tasks.prologue_us = 3;
    tasks.epilogue_us = 4;
    tasks.crowding = 0;
  }
  context.catalog.schedule_costs.push_back(costs);
  study::KernelScheduleQuestion question = fa4_question(128, 64, kAllPairs);
  question.heads = question.batch = 1;
  question.costs = "mine";
  const study::KernelScheduleAnswer answer = study::kernel_schedule(question, context);
  CHECK(answer.not_deterministic->makespan_us == 3 + 2 + 4);
  // 14 bytes an element of Q: O, dO and dQ in two bytes, the fp32 dQ written and read.
  const double bytes = 128 * 64 * (3 * 2 + 2 * 4);
  CHECK(answer.not_deterministic->time_ms == Approx((9 + 5) * 1e-3 + bytes / 1e9 * 1e3));
  // Five products of 128 x 128 pairs and 64 elements, two operations each.
  const double flops = 5.0 * 2 * 128 * 128 * 64;
  CHECK(answer.not_deterministic->tflops_per_s == Approx(flops / answer.not_deterministic->time_ms / 1e9));
}

TEST_CASE("FlashAttention-4 has 80 rows a Q tile without a mask at head dim 128, and 64 with one") {
  const study::Context context = study::default_context();
  CHECK(study::kernel_schedule(fa4_question(4096, 128, kAllPairs), context).tiles.q == 80);
  CHECK(study::kernel_schedule(fa4_question(4096, 128, kLowerHalf), context).tiles.q == 64);
  CHECK(study::kernel_schedule(fa4_question(4096, 64, kLowerHalf), context).tiles.q == 128);
}

TEST_CASE("sections hold the largest power of two of heads whose Q, dO and fp32 dQ fit") {
  // 16,384 tokens of head dim 128: Q and dO in two bytes, dQ in four: 16 MiB. 50 MiB hold three, so two.
  const study::Context context = study::default_context();
  const study::KernelScheduleAnswer answer =
      study::kernel_schedule(fa4_question(16384, 128, kLowerHalf), context);
  CHECK(answer.ordered->sections.heads_per_section == 2);
  CHECK(answer.ordered->algorithm == "spt");
  CHECK(answer.unordered.sections.heads_per_section == 1);
  CHECK(answer.ratio.value() < 1);
}

TEST_CASE("FlashAttention-2 at 16,384 tokens takes two waves of nine CTAs a head: half of its throughput") {
  // 16 heads on 132 SMs: ceil(132 / 16) = 9 CTAs a head, 144 in all, so 12 of them in a second wave, each
  // with 128 / 9 KV tiles. Measured: 158 of 304 TFLOP/s.
  study::KernelScheduleQuestion question = fa4_question(16384, 128, kAllPairs);
  question.kernel = "fa2";
  const study::KernelScheduleAnswer answer = study::kernel_schedule(question, study::default_context());
  CHECK(answer.ratio.value() == Approx(158.0 / 304.0).epsilon(0.05));
}

TEST_CASE("a kernel that nobody has measured answers with its orders and says what is missing") {
  study::KernelScheduleQuestion question = fa4_question(4096, 128, kAllPairs);
  question.kernel = "ours";
  question.device = "h100";  // measured on an H200 alone
  const study::KernelScheduleAnswer answer = study::kernel_schedule(question, study::default_context());
  CHECK(answer.ordered->algorithm == "shift");
  CHECK_FALSE(answer.deterministic.has_value());
  CHECK_FALSE(answer.missing.empty());
}

TEST_CASE("FlashAttention-3 on an H100 takes its eight published times, within 3%") {
  // 4 batches of 48 heads, head dim 128. Causal: microseconds of facebookexperimental/triton, pull request
  // 3582. Full: TFLOP/s of its pull requests 3465 and 3582; five products of two operations.
  struct Published {
    std::int64_t tokens;
    double causal_us, full_tflops;
  };
  const Published published[] = {
      {1024, 709.66, 313}, {2048, 1631.26, 436}, {4096, 4643.46, 527}, {8192, 15308.16, 564}};
  const study::Context context = study::default_context();
  for (const Published& each : published) {
    study::KernelScheduleQuestion question = fa4_question(each.tokens, 128, kLowerHalf);
    question.kernel = "fa3";
    question.device = "h100";
    question.batch = 4;
    question.heads = 48;
    CAPTURE(each.tokens);
    CHECK(study::kernel_schedule(question, context).not_deterministic->time_ms ==
          Approx(each.causal_us / 1000).epsilon(0.03));
    question.mask = kAllPairs;
    CHECK(study::kernel_schedule(question, context).not_deterministic->tflops_per_s ==
          Approx(each.full_tflops).epsilon(0.03));
  }
}

TEST_CASE("the deterministic run of a kernel is a schedule that ends when the kernel does") {
  const study::Context context = study::default_context();
  for (const char* kernel : {"fa2", "fa3", "fa4"}) {
    study::KernelScheduleQuestion question = fa4_question(2048, 128, kLowerHalf);
    question.kernel = kernel;
    if (question.kernel == "fa3") question.device = "h100";
    question.batch = 1;
    const study::KernelScheduleAnswer answer = study::kernel_schedule(question, context);
    const study::ScheduleAnswer run =
        study::schedule(study::deterministic_run(question, answer), context);
    CAPTURE(kernel);
    CHECK(run.results.front().name == answer.ordered->algorithm);
    // Costs of the kernel are rounded to nanoseconds.
    CHECK(study::require_finished(run.results.front()).run.makespan ==
          Approx(answer.deterministic->makespan_us).epsilon(1e-3));
  }
  const study::KernelScheduleQuestion unmeasured = [] {
    study::KernelScheduleQuestion question = fa4_question(2048, 128, kLowerHalf);
    question.device = "b200";
    return question;
  }();
  CHECK_THROWS_AS(study::deterministic_run(unmeasured, study::kernel_schedule(unmeasured, context)), Error);
}

TEST_CASE("750,000 tokens are answered from shorter lengths, by the number of tasks") {
  const study::Context context = study::default_context();
  study::KernelScheduleQuestion question = fa4_question(750'000, 128, kLowerHalf);
  question.heads = 4;
  question.batch = 1;
  const study::KernelScheduleAnswer answer = study::kernel_schedule(question, context);
  // 4 heads of S^2 / 2 / (64 * 128) tasks: 1.4e8 in all, 2.1e6 at an eighth of the length, 8.6e6 at a quarter.
  CHECK(answer.extrapolated_from_tokens.value() == 93'750);
  // No run ends before its tasks on all workers do.
  CHECK(answer.not_deterministic->makespan_us >= answer.not_deterministic->lower_bound_us);
  CHECK(answer.deterministic->time_ms >= answer.not_deterministic->time_ms);
  // Causal work is quadratic: 187,500 tokens, which are simulated, take a sixteenth, within 3%.
  question.q_tokens = 187'500;
  const study::KernelScheduleAnswer quarter = study::kernel_schedule(question, context);
  CHECK_FALSE(quarter.extrapolated_from_tokens);
  CHECK(answer.deterministic->time_ms / quarter.deterministic->time_ms == Approx(16).epsilon(0.03));
  CHECK(answer.not_deterministic->time_ms / quarter.not_deterministic->time_ms == Approx(16).epsilon(0.03));
}

TEST_CASE("what makes no sense is refused, with its name") {
  const study::Context context = study::default_context();
  const auto refused = [&](const auto& spoil) {
    study::KernelScheduleQuestion question = fa4_question(4096, 128, kAllPairs);
    spoil(question);
    CHECK_THROWS_AS(study::kernel_schedule(question, context), Error);
  };
  refused([](auto& question) { question.kernel = "fa5"; });
  refused([](auto& question) { question.device = "h2000"; });
  refused([](auto& question) { question.q_tokens = 0; });
  refused([](auto& question) { question.heads_kv = 3; });
  refused([](auto& question) { question.head_dim = 512; });
  refused([](auto& question) { question.costs = "fa4-h200-d64"; });
  refused([](auto& question) { question.mask = {DocumentMask{{4096}}}; });
}

}  // namespace kernel_schedule_test

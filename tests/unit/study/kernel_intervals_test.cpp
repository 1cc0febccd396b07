// How sure times of backward kernels are where nobody timed such a call: costs of another mode, published times alone,
// and lengths and masks outside of what was measured.
#include <cmath>

#include <natten_sim/study/kernel_schedule.hpp>

#include "catch.hpp"
#include "schedules/judged_times.hpp"

namespace kernel_intervals_test {

using namespace natten_sim;
using study::IntervalBasis;

study::KernelScheduleAnswer answered(const std::string& kernel, const std::string& device, std::int64_t tokens,
                                     std::int32_t batch, std::int32_t heads, std::int64_t head_dim, ScheduleMask mask) {
  study::KernelScheduleQuestion question;
  question.kernel = kernel;
  question.device = device;
  question.q_tokens = tokens;
  question.batch = batch;
  question.heads = heads;
  question.head_dim = head_dim;
  question.mask = std::move(mask);
  return study::kernel_schedule(question, study::default_context());
}

const ScheduleMask kAll{FullMask{}}, kLowerHalf{CausalMask{}};

TEST_CASE("deterministic cuDNN, which nobody timed, has a band that holds eleven of twelve calls of its own interface") {
  // cuDNN 9.19 by its frontend 1.32 on an H200, milliseconds (docs/schedule-times-measured.md).
  struct Measured {
    std::int64_t head_dim, tokens;
    std::int32_t batch;
    double full, causal;
  };
  const Measured rows[] = {{128, 512, 32, .495, .351}, {128, 2048, 8, 1.45, .881}, {128, 16384, 1, 10.9, 5.54},
                           {64, 512, 32, .754, .482},  {64, 2048, 8, 2.43, 1.23},  {64, 16384, 1, 19.4, 7.74}};
  int inside = 0;
  const double peak = study::default_context().catalog.device("h200").dense_bf16_flops_per_s->value;
  for (const Measured& row : rows) {
    for (const bool causal : {false, true}) {
      CAPTURE(row.head_dim, row.tokens, causal);
      const auto heads = static_cast<std::int32_t>(2048 / row.head_dim);
      const study::KernelScheduleAnswer answer =
          answered("cudnn", "h200", row.tokens, row.batch, heads, row.head_dim, causal ? kLowerHalf : kAll);
      REQUIRE(answer.deterministic->interval_ms);
      const study::CallInterval& band = *answer.deterministic->interval_ms;
      CHECK(band.basis == IntervalBasis::kPhysical);
      CHECK(band.points == 0);
      const double measured = causal ? row.causal : row.full;
      CHECK(band.low <= measured);
      inside += measured <= band.high ? 1 : 0;
      // Five products of two operations; 16,384 tokens are bound by them and not by bytes.
      const double pairs = static_cast<double>(row.tokens * row.tokens) / (causal ? 2 : 1);
      if (row.tokens == 16384)
        CHECK(band.low == Approx(10 * pairs * static_cast<double>(row.head_dim * row.batch * heads) / peak * 1e3));
      CHECK(answer.not_deterministic->interval_ms->basis == IntervalBasis::kJudged);
      CHECK(answer.ratio_interval->low == Approx(answer.not_deterministic->time_ms / band.high));
    }
  }
  CHECK(inside == 11);  // 16,384 tokens, full, at head dim 64 are slower than the slowest launch
}

TEST_CASE("FlashAttention-3's intervals are the worst of ten left-out times, and wider outside of them") {
  // Predicted from the other seven, 1,024 causal tokens take .6451 ms; published .7097 ms.
  const double worst = .70966 / .645097;
  const study::KernelScheduleAnswer inside = answered("fa3", "h100", 2048, 4, 48, 128, kLowerHalf);
  const study::CallInterval& near = *inside.not_deterministic->interval_ms;
  CHECK(near.basis == IntervalBasis::kLeftOut);
  CHECK(near.points == 10);
  CHECK(near.outside.empty());
  CHECK(near.high / inside.not_deterministic->time_ms == Approx(worst));
  CHECK(near.low <= 1.63126);  // published
  // 512 tokens are one doubling from 1,024, 16 heads one from 32, and a window counts two.
  const study::KernelScheduleAnswer outside = answered("fa3", "h100", 512, 1, 16, 128, {SlidingWindowMask{128, 0}});
  const study::CallInterval& far = *outside.not_deterministic->interval_ms;
  CHECK(far.outside.size() == 3);
  CHECK(far.high / outside.not_deterministic->time_ms == Approx(std::pow(worst, 1 + 1 + .5 + 2)));
  CHECK(outside.ratio_interval);
  // One deterministic time is known, of 8,192 causal tokens.
  REQUIRE(outside.deterministic->interval_ms->outside.size() == 3);
  CHECK(*outside.deterministic->interval_ms->outside.front().least == 8192);
}

TEST_CASE("beyond the longest judged length an interval grows by an error a doubling") {
  const std::vector<JudgedTime> judged =
      study::default_context().catalog.schedule_cost_set("fa4-h200-d128").judged;
  const study::KernelScheduleAnswer answer =
      answered("fa4", "h200", 4 * 65536, 1, 16, 128, {SlidingWindowMask{128, 0}});
  const JudgedTime call{.mask = "window:128,0", .algorithm = "spt", .tokens = 4 * 65536, .heads = 16};
  const study::CallInterval& interval = *answer.deterministic->interval_ms;
  REQUIRE(interval.outside.size() == 1);
  CHECK(*interval.outside.front().most == 65536);
  CHECK(interval.high / answer.deterministic->time_ms ==
        Approx(std::pow(study::nearby_error(judged, call)->factor, 3)));
}

}  // namespace kernel_intervals_test

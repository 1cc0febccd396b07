// Intervals of scheduled times: the conformal quantile of the nearest calls that were predicted first.
#include "schedules/judged_times.hpp"

#include <cmath>
#include <vector>

#include <natten_sim/study/kernel_schedule.hpp>

#include "catch.hpp"

namespace judged_times_test {

using namespace natten_sim;
using study::nearby_error;
using study::nearby_ratio_error;

/// Measured `percent` percent above its prediction of 1 ms.
JudgedTime judged(const char* mask, const char* algorithm, std::int64_t tokens, double percent) {
  return {.mask = mask, .algorithm = algorithm, .tokens = tokens, .heads = 16, .predicted_ms = 1,
          .measured_ms = 1 + percent / 100};
}

TEST_CASE("of 20 errors the interval holds all but the largest, whatever their sign and order") {
  std::vector<JudgedTime> times;
  for (int percent = 20; percent >= 1; --percent)
    times.push_back(judged("full", "shift", 4096, percent % 2 == 0 ? percent : -percent));
  const auto error = nearby_error(times, judged("full", "shift", 4096, 0));
  REQUIRE(error);
  CHECK(error->points == 20);
  // Rank ceil(.9 * 21) = 19: of logarithms, 19% below is the largest, and 17% below is more than 20% above.
  CHECK(error->factor == Approx(1 / .83));
}

TEST_CASE("fewer than 20 judged times give their largest error, fewer than 9 give none") {
  std::vector<JudgedTime> times;
  for (int percent = 1; percent <= 8; ++percent) times.push_back(judged("full", "", 4096, percent));
  CHECK_FALSE(nearby_error(times, judged("full", "", 4096, 0)));
  times.push_back(judged("full", "", 4096, 9));
  REQUIRE(nearby_error(times, judged("full", "", 4096, 0)));
  CHECK(nearby_error(times, judged("full", "", 4096, 0))->factor == Approx(1.09));
  CHECK_FALSE(nearby_error(times, judged("full", "shift", 4096, 0)));  // of the other mode there are none
}

TEST_CASE("the mask counts more than a length twice as long, and less than one eight times as long") {
  std::vector<JudgedTime> times;
  for (int i = 0; i < 20; ++i) {
    times.push_back(judged("window:128,0", "spt", 4096, 1));
    times.push_back(judged("causal", "spt", 4096, 5));
  }
  CHECK(nearby_error(times, judged("window:512,0", "spt", 8192, 0))->factor == Approx(1.01));
  CHECK(nearby_error(times, judged("causal", "spt", 8192, 0))->factor == Approx(1.05));
  std::vector<JudgedTime> lengths;
  for (int i = 0; i < 20; ++i) {
    lengths.push_back(judged("causal", "spt", 512, 7));
    lengths.push_back(judged("full", "spt", 4096, 2));
  }
  CHECK(nearby_error(lengths, judged("causal", "spt", 4096, 0))->factor == Approx(1.02));
  CHECK(nearby_error(lengths, judged("causal", "spt", 1024, 0))->factor == Approx(1.07));
}

TEST_CASE("a ratio is judged by pairs of one call, and an error of both runs cancels") {
  std::vector<JudgedTime> times;
  for (int tokens = 1; tokens <= 20; ++tokens) {
    times.push_back(judged("full", "shift", 512 * tokens, 10));
    times.push_back(judged("full", "", 512 * tokens, 10));
  }
  times.push_back(judged("full", "shift", 512 * 21, 40));  // has no pair
  const auto error = nearby_ratio_error(times, judged("full", "shift", 512, 0));
  REQUIRE(error);
  CHECK(error->points == 20);
  CHECK(error->factor == Approx(1));
}

struct Coverage {
  int inside = 0, count = 0;

  void add(double measured, double predicted, double factor) {
    ++count;
    inside += std::abs(std::log(measured / predicted)) <= std::log(factor);
  }
  void check() const {
    CHECK(count >= 13);
    CHECK(inside >= .85 * count);
    CHECK(inside <= .97 * count);
  }
};

const JudgedTime* unordered_of(const std::vector<JudgedTime>& all, const JudgedTime& ordered) {
  for (const JudgedTime& each : all) {
    if (each.algorithm.empty() && each.mask == ordered.mask && each.tokens == ordered.tokens &&
        each.heads == ordered.heads && each.heads_per_kv_head == ordered.heads_per_kv_head)
      return &each;
  }
  return nullptr;
}

TEST_CASE("of judged times and ratios that are left out, 85 to 97% lie within the interval of the others") {
  for (const char* name : {"ours-h200-d64", "ours-h200-d128", "fa4-h200-d64", "fa4-h200-d128"}) {
    INFO(name);
    const std::vector<JudgedTime> all = study::default_context().catalog.schedule_cost_set(name).judged;
    Coverage ordered, unordered, ratios;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const JudgedTime& left_out = all[i];
      std::vector<JudgedTime> others = all;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      Coverage& times = left_out.algorithm.empty() ? unordered : ordered;
      times.add(left_out.measured_ms, left_out.predicted_ms, nearby_error(others, left_out)->factor);
      const JudgedTime* pair = left_out.algorithm.empty() ? nullptr : unordered_of(all, left_out);
      if (pair == nullptr) continue;
      ratios.add(pair->measured_ms / left_out.measured_ms, pair->predicted_ms / left_out.predicted_ms,
                 nearby_ratio_error(others, left_out)->factor);
    }
    ordered.check();
    unordered.check();
    ratios.check();
  }
}

study::KernelScheduleAnswer fa4(std::int64_t tokens, std::int32_t batch, ScheduleMask mask,
                                std::int32_t heads_kv = 16) {
  study::KernelScheduleQuestion question;
  question.kernel = "fa4";
  question.device = "h200";
  question.q_tokens = tokens;
  question.heads = 16;
  question.heads_kv = heads_kv;
  question.batch = batch;
  question.mask = std::move(mask);
  return study::kernel_schedule(question, study::default_context());
}

bool holds(const std::optional<study::CallInterval>& interval, double value) {
  return interval && interval->low <= value && value <= interval->high;
}

TEST_CASE("FlashAttention-4's intervals hold what was measured where 3.5% did not") {
  // An H200: determinism leaves .837 of the throughput at 512 tokens, where .950 is predicted.
  const study::KernelScheduleAnswer ratio = fa4(512, 32, {FullMask{}});
  CHECK(*ratio.ratio == Approx(.95).epsilon(.005));
  CHECK(holds(ratio.ratio_interval, .837));
  // Windows and fewer KV heads than heads, milliseconds of the same recording.
  const study::KernelScheduleAnswer window = fa4(16384, 1, {SlidingWindowMask{512, 0}});
  CHECK(holds(window.deterministic->interval_ms, .5515));
  const study::KernelScheduleAnswer grouped = fa4(2048, 8, {FullMask{}}, 4);
  CHECK(holds(grouped.deterministic->interval_ms, 1.389));
  CHECK(grouped.deterministic->interval_ms->high / grouped.deterministic->time_ms > 1.035);
}

TEST_CASE("costs that no time was judged for give no interval") {
  study::Context context = study::default_context();
  ScheduleCostSet own = context.catalog.schedule_cost_set("fa4-h200-d128");
  own.name = "own";
  own.judged.clear();
  context.catalog.schedule_costs.push_back(own);
  study::KernelScheduleQuestion question;
  question.kernel = "fa4";
  question.device = "h200";
  question.q_tokens = 512;
  question.costs = "own";
  const study::KernelScheduleAnswer answer = study::kernel_schedule(question, context);
  REQUIRE(answer.deterministic);
  CHECK_FALSE(answer.deterministic->interval_ms);
  CHECK_FALSE(answer.ratio_interval);
}

TEST_CASE("a call lies outside by the doublings of its length, half of those of its heads, and two for its mask") {
  const std::vector<JudgedTime> times = {judged("full", "", 512, 1), judged("causal", "", 4096, 1),
                                         judged("window:8,0", "spt", 65536, 1)};
  CHECK(study::outside_of(times, judged("causal", "", 2048, 0)).doublings == 0);
  CHECK(study::outside_of(times, judged("causal", "", 16384, 0)).doublings == 2);
  CHECK(study::outside_of(times, judged("full", "", 256, 0)).doublings == 1);
  JudgedTime other = judged("window:512,0", "", 8192, 0);
  other.heads = 64;
  other.heads_per_kv_head = 4;
  const study::Outside outside = study::outside_of(times, other);
  CHECK(outside.doublings == 1 + .5 * 2 + 2 + 2);
  REQUIRE(outside.of.size() == 4);
  CHECK(outside.of[0].quantity == "tokens");
  CHECK(*outside.of[0].value == 8192);
  CHECK(*outside.of[0].least == 512);
  CHECK(*outside.of[0].most == 4096);
  CHECK(outside.of[3].quantity == "window masks");
  CHECK_FALSE(outside.of[3].value);
}

}  // namespace judged_times_test

// The front of time against attended pairs that search gives: each point asked again by itself.
#include <algorithm>
#include <cmath>

#include <natten_sim/study/count.hpp>
#include <natten_sim/study/search.hpp>

#include "catch.hpp"

namespace time_front_test {

using namespace natten_sim;

study::SearchQuestion hunyuan(SearchPhase phase) {
  study::SearchQuestion question;
  question.setting.preset = "hunyuan-video";
  question.setting.device = "h200";
  question.phase = phase;
  return question;
}

/// Of every `step` points the first is asked again.
void check_front(SearchPhase phase, std::size_t step) {
  const study::Context context = study::default_context();
  study::SearchQuestion question = hunyuan(phase);
  question.kind = study::SearchKind::kPareto;
  question.constraints.sparsity = SparsityRange{0.3, 0.97};
  const study::SearchAnswer front = study::search(question, context);
  CHECK(front.question.objective == Objective::kTime);
  CHECK(front.complete);
  REQUIRE(front.candidates.size() > 10);
  for (std::size_t i = 0; i < front.candidates.size(); ++i) {
    const study::SearchCandidate& point = front.candidates[i];
    const TileCount& count = point.counted.count;
    CAPTURE(i, to_string(window_of(point.counted.problem.mask)));
    CHECK_FALSE(point.kernel.refusal);
    CHECK(count.sparsity() >= 0.3);
    CHECK(count.sparsity() <= 0.97);
    if (i > 0) {
      const study::SearchCandidate& before = front.candidates[i - 1];
      CHECK(before.total_ms() < point.total_ms());
      CHECK(static_cast<double>(count.attended_pairs) >=
            study::kFrontStep * static_cast<double>(before.counted.count.attended_pairs));
    }
    if (i % step != 0) continue;
    study::SearchQuestion again = hunyuan(phase);
    again.top = 1;
    again.constraints.max_imbalance = front.question.constraints.max_imbalance;
    again.constraints.least_attended = count.attended_pairs;
    again.constraints.sparsity = question.constraints.sparsity;
    const study::SearchAnswer asked = study::search(again, context);
    REQUIRE(asked.candidates.size() == 1);
    CHECK(asked.candidates[0].total_ms() == point.total_ms());
    CHECK(asked.candidates[0].counted.count.attended_pairs == count.attended_pairs);
  }
}

TEST_CASE("no point of a front by time is dominated: the fastest that attends to as much is the point itself") {
  check_front(SearchPhase::kForward, 16);
}

TEST_CASE("no point of a front of both passes by time is dominated", "[.nightly][long]") {
  check_front(SearchPhase::kForward, 1);
  check_front(SearchPhase::kBoth, 1);
}

TEST_CASE("a front by time ends before the window over the whole input, which NATTEN runs by another kernel") {
  study::SearchQuestion question;
  question.setting.input = {24, 24};
  question.setting.heads = 8;
  question.setting.head_dim = 128;
  question.setting.device = "h100";
  question.kind = study::SearchKind::kPareto;
  const study::SearchAnswer front = study::search(question, study::default_context());
  REQUIRE(front.candidates.size() > 3);
  for (const study::SearchCandidate& point : front.candidates) CHECK_FALSE(point.dense_path);
}

struct Configuration {
  std::int64_t attended = 0;
  double ms = 0;
};

/// Every window and stride of one axis but the whole axis, timed one by one.
std::vector<Configuration> all_of(study::CountQuestion asked, const study::Context& context) {
  std::vector<Configuration> all;
  for (std::int64_t window = 2; window < asked.setting.input[0]; ++window) {
    for (std::int64_t stride = 1; stride <= window; ++stride) {
      asked.window = {window};
      asked.stride = {stride};
      const study::CountAnswer answer = study::count(asked, context);
      all.push_back({answer.forward.count.attended_pairs, std::get<study::PassTime>(answer.time.value()).total_ms});
    }
  }
  return all;
}

TEST_CASE("the front of a causal axis, whose attended pairs vary with the stride, is that of plain enumeration") {
  const study::Context context = study::default_context();
  study::SearchQuestion question;
  question.setting.input = {193};
  question.setting.heads = 40;
  question.setting.head_dim = 128;
  question.setting.device = "a100";
  question.causal = {true};
  question.q_tile = question.kv_tile = {64};
  question.kind = study::SearchKind::kPareto;
  const study::SearchAnswer front = study::search(question, context);
  CHECK(front.complete);
  study::CountQuestion asked;
  asked.setting = front.question.setting;
  asked.causal = {true};
  asked.q_tile = asked.kv_tile = {64};
  const std::vector<Configuration> all = all_of(asked, context);
  std::vector<Configuration> expected;
  for (double least = 0;;) {
    const Configuration* best = nullptr;
    for (const Configuration& each : all) {
      if (static_cast<double>(each.attended) < least) continue;
      const bool better = best == nullptr || each.ms < best->ms * (1 - 1e-12) ||
                          (each.ms <= best->ms * (1 + 1e-12) && each.attended > best->attended);
      if (better) best = &each;
    }
    if (best == nullptr) break;
    expected.push_back(*best);
    const auto attended = static_cast<double>(best->attended);
    least = std::max(attended + 1, std::ceil(study::kFrontStep * attended));
  }
  REQUIRE(expected.size() >= 3);
  REQUIRE(front.candidates.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(front.candidates[i].total_ms() == Approx(expected[i].ms));
    CHECK(front.candidates[i].counted.count.attended_pairs == expected[i].attended);
  }
}

TEST_CASE("without a device, or by another objective, a front is over sparsity, strides and tiles") {
  study::SearchQuestion question;
  question.setting.input = {24, 24};
  question.kind = study::SearchKind::kPareto;
  CHECK(study::search(question, study::default_context()).question.objective != Objective::kTime);
  question.setting.device = "h100";
  question.objective = Objective::kMean;
  CHECK(study::search(question, study::default_context()).question.objective == Objective::kMean);
}

}  // namespace time_front_test

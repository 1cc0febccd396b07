// Scores by hand and against plain definitions; what may not fall below what is stored.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <natten_sim/core/device.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/compare/score.hpp>
#include <natten_sim/validate/compare/suite.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "catch.hpp"
#include "random.hpp"
#include "shipped_recordings.hpp"
#include "timed_points.hpp"

namespace score_test {

using namespace natten_sim;
using namespace natten_sim::validate;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("a score of five points, by hand") {
  // Ranks predicted 1 2 3 4 5, measured 2 1 3 5 4: differences 1 1 0 1 1, rho = 1 - 6 * 4 / (5 * 24).
  const std::vector<ScoredPoint> points = {
      {10, 20, 0.3}, {20, 10, -0.1}, {30, 30, 0.2}, {40, 50, -0.4}, {50, 40, 0.0}};
  const Score score = score_of(points, 0.2);
  CHECK(score.points == 5);
  CHECK(score.within == Approx(3.0 / 5));  // 0.1, 0.2 and 0: the tolerance itself is within
  CHECK(score.median == Approx(0.2));
  CHECK(score.p90 == Approx(0.4));  // nearest rank: ceil(4.5) = the fifth
  CHECK(score.rank == Approx(0.8));
}

TEST_CASE("of ten points the ninth is the 90th percentile, and the median lies between two") {
  std::vector<ScoredPoint> points;
  for (int i = 1; i <= 10; ++i) points.push_back({1.0 * i, -1.0 * i, 0.01 * i});
  const Score score = score_of(points, 0.05);
  CHECK(score.p90 == Approx(0.09));
  CHECK(score.median == Approx(0.055));
  CHECK(score.within == Approx(0.5));
  CHECK(score.rank == Approx(-1));
}

TEST_CASE("equal values share their ranks, and constants correlate with nothing") {
  // Ranks 1.5 1.5 3 against 1 2 3: covariance 1.5, variances 1.5 and 2.
  CHECK(score_of(std::vector<ScoredPoint>{{7, 1, 0}, {7, 2, 0}, {9, 3, 0}}, 0).rank ==
        Approx(1.5 / std::sqrt(1.5 * 2)));
  CHECK(score_of(std::vector<ScoredPoint>{{7, 1, 0}, {7, 2, 0}}, 0).rank == 0);
  CHECK(score_of(std::vector<ScoredPoint>{{7, 1, 0}}, 0).rank == 1);
}

TEST_CASE("what is no number, or infinite, is within nothing") {
  const std::vector<ScoredPoint> points = {
      {1, 1, 0}, {2, 2, std::numeric_limits<double>::quiet_NaN()}, {3, 0, kInfinity}};
  const Score score = score_of(points, 1e300);
  CHECK(score.within == Approx(1.0 / 3));
  CHECK(std::isinf(score.median));
  CHECK_FALSE(holds(score, {3, 1.0 / 3, 9, 9, -1}));
}

TEST_CASE("scores agree with plain definitions on random points") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const auto n = std::uniform_int_distribution<std::size_t>(2, 40)(random);
    std::uniform_int_distribution<int> few(0, 9);  // many ties
    std::vector<ScoredPoint> points;
    for (std::size_t i = 0; i < n; ++i) points.push_back({1.0 * few(random), 1.0 * few(random), 0.1 * few(random)});
    const double tolerance = 0.1 * few(random) + 0.05;
    const Score score = score_of(points, tolerance);
    // A rank is one more than the number of smaller values, and half of the equal others.
    const auto rank = [&](double ScoredPoint::*value, std::size_t at) {
      double result = 1;
      for (std::size_t j = 0; j < n; ++j) {
        if (points[j].*value < points[at].*value) result += 1;
        if (j != at && points[j].*value == points[at].*value) result += 0.5;
      }
      return result;
    };
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_yy = 0, sum_xy = 0, inside = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = rank(&ScoredPoint::predicted, i), y = rank(&ScoredPoint::measured, i);
      sum_x += x, sum_y += y, sum_xx += x * x, sum_yy += y * y, sum_xy += x * y;
      inside += points[i].deviation <= tolerance ? 1 : 0;
      std::size_t no_worse = 0;
      for (const ScoredPoint& each : points) no_worse += each.deviation <= points[i].deviation ? 1 : 0;
      // Nine in ten are no worse than the 90th percentile, and no smaller deviation has as many.
      if (points[i].deviation == score.p90) CHECK(10 * no_worse >= 9 * n);
      if (points[i].deviation < score.p90) CHECK(10 * no_worse < 9 * n);
    }
    const double m = static_cast<double>(n);
    const double xx = sum_xx - sum_x * sum_x / m, yy = sum_yy - sum_y * sum_y / m;
    CHECK(score.within == Approx(inside / m));
    if (xx > 1e-9 && yy > 1e-9) CHECK(score.rank == Approx((sum_xy - sum_x * sum_y / m) / std::sqrt(xx * yy)).margin(1e-9));
  }
}

TEST_CASE("a score holds while nothing is worse, to the digits that are stored") {
  const Score stored = {10, 0.8, 0.1, 0.3, 0.9};
  CHECK(holds(stored, stored));
  CHECK(holds({10, 0.9, 0.05, 0.2, 0.95}, stored));
  CHECK(holds({10, 0.79996, 0.10004, 0.30004, 0.89996}, stored));
  CHECK_FALSE(holds({10, 0.79, 0.1, 0.3, 0.9}, stored));
  CHECK_FALSE(holds({10, 0.8, 0.101, 0.3, 0.9}, stored));
  CHECK_FALSE(holds({10, 0.8, 0.1, 0.301, 0.9}, stored));
  CHECK_FALSE(holds({10, 0.8, 0.1, 0.3, 0.899}, stored));
  CHECK_FALSE(holds({10, std::nan(""), 0.1, 0.3, 0.9}, stored));
}

Comparison compare_timed(const std::vector<Recording>& recordings) {
  return compare(recordings, builtin_suites(), builtin_catalog().devices, Fidelity::kTimed);
}

bool is_timed(const ComparisonRow& row) { return row.model.find("timed") != std::string::npos; }

TEST_CASE("the timed model misses no stored point of a suite by more than it did") {
  std::set<std::string> found;
  for (const Recording& recording : test::shipped_recordings()) {
    for (const RecordedRow& row : recording.rows) {
      const std::string key = key_of(row.point);
      const auto* const stored = std::find_if(test::kTimedPoints.begin(), test::kTimedPoints.end(), [&](const auto& each) {
        return each.suite == recording.head.suite && each.point == key;
      });
      if (stored == test::kTimedPoints.end()) continue;
      found.insert(recording.head.suite + key);
      std::size_t timed = 0;
      for (const ComparisonRow& compared : compare_timed({Recording{recording.head, {row}}}).rows) {
        if (!is_timed(compared)) continue;
        ++timed;
        INFO(recording.head.suite << ": " << key << ": " << compared.counter << " deviates by " << compared.deviation);
        CHECK(std::abs(compared.deviation) <= stored->deviation);
        CHECK(compared.verdict == Verdict::kScored);
      }
      INFO(recording.head.suite << ": " << key);
      CHECK(timed > 0);
    }
  }
  CHECK(found.size() == test::kTimedPoints.size());
}

/// Takes up to two minutes, so each suite is a test of its own.
void check_timed(const std::string& name) {
  std::vector<Recording> recordings;
  for (const Recording& each : test::shipped_recordings()) {
    if (each.head.suite == name) recordings.push_back(each);
  }
  REQUIRE_FALSE(recordings.empty());
  const Comparison comparison = compare_timed(recordings);
  std::size_t timed = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (!is_timed(row)) continue;
    ++timed;
    INFO(row.point << ": " << row.counter << " deviates by " << row.deviation);
    CHECK(row.verdict != Verdict::kNoTolerance);
    CHECK(row.verdict != Verdict::kOutside);
  }
  CHECK(timed > 0);
  for (const ScoreResult& score : comparison.scores) {
    INFO(score.counter << ", " << score.model << ", " << score.group << ": within " << score.reached.within
                       << ", median " << score.reached.median << ", p90 " << score.reached.p90 << ", rank "
                       << score.reached.rank);
    CHECK(score.judged());
    CHECK(score.held());
  }
  CHECK(all_hold(comparison));
}

TEST_CASE("the timed model holds its scores: forward", "[.nightly]") { check_timed("forward"); }
TEST_CASE("the timed model holds its scores: held-out", "[.nightly]") { check_timed("held-out"); }
TEST_CASE("the timed model holds its scores: fresh", "[.nightly]") { check_timed("fresh"); }
TEST_CASE("the timed model holds its scores: fresh-ways", "[.nightly]") { check_timed("fresh-ways"); }
TEST_CASE("the timed model holds its scores: gna", "[.nightly]") { check_timed("gna"); }
TEST_CASE("the timed model holds its scores: reuse", "[.nightly]") { check_timed("reuse"); }
TEST_CASE("the timed model holds its scores: sdpa-times", "[.nightly]") { check_timed("sdpa-times"); }
TEST_CASE("the timed model holds its scores: sawtooth", "[.nightly]") { check_timed("sawtooth"); }
TEST_CASE("the timed model holds its scores: active-sms", "[.nightly]") { check_timed("active-sms"); }
TEST_CASE("the timed model holds its scores: fresh-clocks", "[.nightly]") { check_timed("fresh-clocks"); }
TEST_CASE("the timed model holds its scores: fresh-latency", "[.nightly]") { check_timed("fresh-latency"); }
TEST_CASE("the timed model holds its scores: sdpa-reads", "[.nightly]") { check_timed("sdpa-reads"); }
TEST_CASE("the timed model holds its scores: gna-extra", "[.nightly]") { check_timed("gna-extra"); }
TEST_CASE("the timed model holds its scores: second-gpu", "[.nightly]") { check_timed("second-gpu"); }
TEST_CASE("the timed model holds its scores: second-gpu-fresh", "[.nightly]") { check_timed("second-gpu-fresh"); }
TEST_CASE("the timed model holds its scores: second-gpu-gna", "[.nightly]") { check_timed("second-gpu-gna"); }

}  // namespace score_test

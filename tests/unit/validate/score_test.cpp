// Scores by hand and against plain definitions; what may not fall below what is stored.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <span>
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

TEST_CASE("half as much is as far off as twice, and nothing at all is infinitely far off") {
  CHECK(error_of(ErrorKind::kFactor, 2, 1) == 1);
  CHECK(error_of(ErrorKind::kFactor, 1, 2) == 1);
  CHECK(error_of(ErrorKind::kFactor, 0, 2) == kInfinity);
  CHECK(error_of(ErrorKind::kFactor, 2, 0) == kInfinity);
  CHECK(error_of(ErrorKind::kFactor, 0, 0) == 0);
  CHECK(error_of(ErrorKind::kDifference, 0.25, 1) == 0.75);
  CHECK(error_of(ErrorKind::kChoice, 2, 1) == 1);
  CHECK(error_of(ErrorKind::kChoice, 2, 2) == 0);
  for (const ErrorKind kind : {ErrorKind::kFactor, ErrorKind::kDifference})
    CHECK(error_of(kind, std::nan(""), 1) == kInfinity);
}

TEST_CASE("a score of five points, by hand") {
  // Ranks predicted 1 2 3 4 5, measured 2 1 3 5 4: differences 1 1 0 1 1, rho = 1 - 6 * 4 / (5 * 24).
  const std::vector<ScoredPoint> points = {
      {10, 20, "a"}, {20, 10, "b"}, {30, 30, "c"}, {40, 50, "d"}, {50, 40, "e"}};
  const Score score = score_of(points, ErrorKind::kFactor, 0.25);
  CHECK(score.points == 5);
  CHECK(score.within == Approx(3.0 / 5));  // 1, 1, 0, 1/4 and 1/4: the tolerance itself is within
  CHECK(score.median == Approx(0.25));
  CHECK(score.p90 == Approx(1));  // nearest rank: ceil(4.5) = the fifth
  CHECK(score.rank == Approx(0.8));
  // Of 10 the others are 20 30 40 50, whose median is sqrt(30 * 40), and so on. The measurements before are
  // further off: 2 * 2 * 3 * 5/3 * 5/4 = 25 in all.
  const double loss = std::log(2 * 2 * 1.25 * 1.25);
  const double others = std::log(std::sqrt(1200) / 10) + std::log(std::sqrt(1200) / 20) +
                        std::log(30 / std::sqrt(800)) + std::log(40 / std::sqrt(600)) +
                        std::log(50 / std::sqrt(600));
  REQUIRE(others < std::log(25));
  REQUIRE(score.skill);
  CHECK(*score.skill == Approx(1 - loss / others));
}

TEST_CASE("a constant has no skill, however few points its tolerance leaves out") {
  // Throughput left by determinism on a B200: FlashAttention pull request 2280. A tenth around .90 has three
  // of the four, and a constant .90 is further off than the median of the other three.
  const double left[] = {980.4 / 1247.5, 933.5 / 1117.9, 1166.7 / 1359.8, 1097.2 / 1208.6};
  const Score score = score_of(
      std::vector<ScoredPoint>{
          {0.9, left[0], "1"}, {0.9, left[1], "2"}, {0.9, left[2], "3"}, {0.9, left[3], "4"}},
      ErrorKind::kFactor, 0.1);
  CHECK(score.within == 0.75);
  REQUIRE(score.skill);
  CHECK(*score.skill < 0);
  CHECK(skill_text(score) == "no skill");
}

TEST_CASE("the point before is a baseline too, and other models of a point are not its neighbours") {
  // 1 1 8 8 against the point before: one of four is off, by 8 (the first has the next, which is right). The
  // medians of the others are 8, 8, 1 and 1: worse.
  const std::vector<ScoredPoint> points = {{1, 1, "a"}, {1, 1, "b"}, {8, 8, "c"}, {4, 8, "d"}};
  const Score score = score_of(points, ErrorKind::kFactor, 0);
  REQUIRE(score.skill);
  CHECK(*score.skill == Approx(1 - std::log(2) / std::log(8)));
  // Two models of each point: 1 before 4 and 4 after 1, twice each.
  const std::vector<ScoredPoint> pairs = {{2, 1, "a"}, {2, 1, "a"}, {2, 4, "b"}, {2, 4, "b"}};
  CHECK(*score_of(pairs, ErrorKind::kFactor, 0).skill == Approx(1 - std::log(2) / std::log(4)));
}

TEST_CASE("a choice is held against the most frequent one, and has no skill to show where all are the same") {
  const std::vector<ScoredPoint> points = {{1, 1, "a"}, {1, 1, "b"}, {1, 1, "c"}, {0, 0, "d"}};
  CHECK(score_of(points, ErrorKind::kChoice, 0).skill == 1);
  CHECK(score_of(std::vector<ScoredPoint>{{1, 1, "a"}, {1, 1, "b"}, {1, 1, "c"}, {1, 0, "d"}},
                 ErrorKind::kChoice, 0)
            .skill == 0);
  CHECK_FALSE(score_of(std::span(points).first(3), ErrorKind::kChoice, 0).skill);
  CHECK_FALSE(score_of(std::span(points).first(1), ErrorKind::kFactor, 0).skill);
}

TEST_CASE("of ten points the ninth is the 90th percentile, and the median lies between two") {
  std::vector<ScoredPoint> points;
  for (int i = 1; i <= 10; ++i) points.push_back({0.01 * i, 0.0, "p"});
  const Score score = score_of(points, ErrorKind::kDifference, 0.05);
  CHECK(score.p90 == Approx(0.09));
  CHECK(score.median == Approx(0.055));
  CHECK(score.within == Approx(0.5));
}

TEST_CASE("equal values share their ranks, and constants correlate with nothing") {
  const auto rank = [](const std::vector<ScoredPoint>& points) {
    return score_of(points, ErrorKind::kFactor, 0).rank;
  };
  // Ranks 1.5 1.5 3 against 1 2 3: covariance 1.5, variances 1.5 and 2.
  CHECK(rank({{7, 1, "a"}, {7, 2, "b"}, {9, 3, "c"}}) == Approx(1.5 / std::sqrt(1.5 * 2)));
  CHECK(rank({{7, 1, "a"}, {7, 2, "b"}}) == 0);
  CHECK(rank({{7, 1, "a"}}) == 1);
}

TEST_CASE("what is no number, or infinite, is within nothing") {
  const std::vector<ScoredPoint> points = {{1, 1, "a"}, {std::nan(""), 2, "b"}, {0, 3, "c"}};
  const Score score = score_of(points, ErrorKind::kFactor, 1e300);
  CHECK(score.within == Approx(1.0 / 3));
  CHECK(std::isinf(score.median));
  REQUIRE(score.skill);
  CHECK(*score.skill == -kInfinity);
  CHECK_FALSE(holds(score, {3, 1.0 / 3, 9, 9, -1}));
}

/// By its definition: sorts the other measurements anew for each point.
double median_of_others(const std::vector<ScoredPoint>& points, std::size_t at) {
  std::vector<double> others;
  for (std::size_t j = 0; j < points.size(); ++j)
    if (j != at) others.push_back(points[j].measured);
  std::sort(others.begin(), others.end());
  return std::sqrt(others[(others.size() - 1) / 2] * others[others.size() / 2]);
}

TEST_CASE("scores agree with plain definitions on random points") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937 random(seed);
  const std::vector<std::string> keys = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 40; ++i) made.push_back("point " + std::to_string(i));
    return made;
  }();
  for (int round = 0; round < 300; ++round) {
    const auto n = std::uniform_int_distribution<std::size_t>(2, 40)(random);
    std::uniform_int_distribution<int> few(1, 10);  // many ties
    std::vector<ScoredPoint> points;
    for (std::size_t i = 0; i < n; ++i) points.push_back({1.0 * few(random), 1.0 * few(random), keys[i]});
    const double tolerance = 0.1 * few(random) + 0.051;
    const Score score = score_of(points, ErrorKind::kFactor, tolerance);
    const auto error = [&](std::size_t i) {
      return std::exp(std::abs(std::log(points[i].predicted / points[i].measured))) - 1;
    };
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
    double loss = 0, median_loss = 0, before_loss = 0;
    std::size_t least = 0, below = 0;  // errors that are surely up to, and surely below, the 90th percentile
    for (std::size_t i = 0; i < n; ++i) {
      const double x = rank(&ScoredPoint::predicted, i), y = rank(&ScoredPoint::measured, i);
      sum_x += x, sum_y += y, sum_xx += x * x, sum_yy += y * y, sum_xy += x * y;
      inside += error(i) <= tolerance ? 1 : 0;
      least += error(i) <= score.p90 + 1e-9 ? 1 : 0;
      below += error(i) < score.p90 - 1e-9 ? 1 : 0;
      loss += std::log(1 + error(i));
      median_loss += std::abs(std::log(median_of_others(points, i) / points[i].measured));
      before_loss += std::abs(std::log(points[i == 0 ? 1 : i - 1].measured / points[i].measured));
    }
    CHECK(10 * least >= 9 * n);
    CHECK(10 * below < 9 * n);
    const double m = static_cast<double>(n);
    const double xx = sum_xx - sum_x * sum_x / m, yy = sum_yy - sum_y * sum_y / m;
    CHECK(score.within == Approx(inside / m));
    if (xx > 1e-9 && yy > 1e-9)
      CHECK(score.rank == Approx((sum_xy - sum_x * sum_y / m) / std::sqrt(xx * yy)).margin(1e-9));
    const double baseline = std::min(median_loss, before_loss);
    if (baseline > 1e-9) CHECK(score.skill.value() == Approx(1 - loss / baseline).margin(1e-9));
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
  const Score skilled = {10, 0.8, 0.1, 0.3, 0.9, 0.5};
  CHECK(holds({10, 0.8, 0.1, 0.3, 0.9, 0.6}, skilled));
  CHECK(holds({10, 0.8, 0.1, 0.3, 0.9, 0.6}, stored));
  CHECK_FALSE(holds({10, 0.8, 0.1, 0.3, 0.9, 0.49}, skilled));
  CHECK_FALSE(holds(stored, skilled));
}

Comparison compare_timed(const std::vector<Recording>& recordings) {
  return compare(recordings, builtin_suites(), builtin_catalog().devices, Fidelity::kTimed);
}

bool is_timed(const ComparisonRow& row) { return row.model.find("timed") != std::string::npos; }

/// Of each suite the point at two thirds, or all that are stored.
void check_points(bool all) {
  std::set<std::string> found;
  for (const Recording& recording : test::shipped_recordings()) {
    for (const RecordedRow& row : recording.rows) {
      const std::string key = key_of(row.point);
      const auto* const stored = std::find_if(
          test::kTimedPoints.begin(), test::kTimedPoints.end(),
          [&](const auto& each) { return each.suite == recording.head.suite && each.point == key; });
      if (stored == test::kTimedPoints.end()) continue;
      if (!all && (stored - test::kTimedPoints.begin()) % test::kPointsOfSuite != 1) continue;
      found.insert(recording.head.suite + key);
      std::size_t timed = 0;
      for (const ComparisonRow& compared : compare_timed({Recording{recording.head, {row}}}).rows) {
        if (!is_timed(compared)) continue;
        ++timed;
        INFO(recording.head.suite << ": " << key << ": " << compared.counter << " deviates by "
                                  << compared.deviation);
        CHECK(std::abs(compared.deviation) <= stored->deviation);
        CHECK(compared.verdict == Verdict::kScored);
      }
      INFO(recording.head.suite << ": " << key);
      CHECK(timed > 0);
    }
  }
  CHECK(found.size() == test::kTimedPoints.size() / (all ? 1 : test::kPointsOfSuite));
}

TEST_CASE("the timed model misses a stored point of each suite by no more than it did") { check_points(false); }

TEST_CASE("the timed model misses no stored point of a suite by more than it did", "[.nightly][long]") {
  check_points(true);
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

TEST_CASE("the timed model holds its scores: forward", "[.nightly][long]") { check_timed("forward"); }
TEST_CASE("the timed model holds its scores: held-out", "[.nightly][long]") { check_timed("held-out"); }
TEST_CASE("the timed model holds its scores: fresh", "[.nightly][long]") { check_timed("fresh"); }
TEST_CASE("the timed model holds its scores: fresh-ways", "[.nightly][long]") { check_timed("fresh-ways"); }
TEST_CASE("the timed model holds its scores: gna", "[.nightly][long]") { check_timed("gna"); }
TEST_CASE("the timed model holds its scores: reuse", "[.nightly][long]") { check_timed("reuse"); }
TEST_CASE("the timed model holds its scores: sdpa-times", "[.nightly][long]") { check_timed("sdpa-times"); }
TEST_CASE("the timed model holds its scores: sawtooth", "[.nightly][long]") { check_timed("sawtooth"); }
TEST_CASE("the timed model holds its scores: active-sms", "[.nightly][long]") { check_timed("active-sms"); }
TEST_CASE("the timed model holds its scores: fresh-clocks", "[.nightly][long]") {
  check_timed("fresh-clocks");
}
TEST_CASE("the timed model holds its scores: fresh-latency", "[.nightly][long]") {
  check_timed("fresh-latency");
}
TEST_CASE("the timed model holds its scores: sdpa-reads", "[.nightly][long]") { check_timed("sdpa-reads"); }
TEST_CASE("the timed model holds its scores: gna-extra", "[.nightly][long]") { check_timed("gna-extra"); }
TEST_CASE("the timed model holds its scores: second-gpu", "[.nightly][long]") { check_timed("second-gpu"); }
TEST_CASE("the timed model holds its scores: second-gpu-fresh", "[.nightly][long]") {
  check_timed("second-gpu-fresh");
}
TEST_CASE("the timed model holds its scores: second-gpu-gna", "[.nightly][long]") {
  check_timed("second-gpu-gna");
}

}  // namespace score_test

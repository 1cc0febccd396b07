// How many measured answers lie in the intervals that were stated.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/validate/compare/trust.hpp>

#include "catch.hpp"
#include "shipped_recordings.hpp"

namespace trust_test {

using namespace natten_sim;
using namespace natten_sim::validate;

JudgedAnswer answer(double measured, const std::string& regime = "a") {
  return {"time", "h100", regime, "suite", "point", 100, 90, 110, measured};
}

/// `inside` answers that lie in the interval, and `outside` that do not.
std::vector<JudgedAnswer> answers(std::size_t inside, std::size_t outside) {
  std::vector<JudgedAnswer> made(inside, answer(100));
  made.insert(made.end(), outside, answer(130));
  return made;
}

TEST_CASE("an answer is inside of its interval, ends included") {
  for (const double measured : {90.0, 100.0, 110.0}) CHECK(answer(measured).inside());
  for (const double measured : {89.9, 110.1, 1e9}) CHECK_FALSE(answer(measured).inside());
}

TEST_CASE("points of a suite that constants were fitted to are not judged anew") {
  const Comparison& comparison = test::quick_comparison();
  const auto of_fitted = [](const auto& each) { return find_suite(builtin_suites(), each.suite).fitted; };
  std::size_t fitted = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (!of_fitted(row)) continue;
    CHECK(row.fitted);
    ++fitted;
  }
  // Of ragged-costs and fa2-tail, of head-dims-costs and fa2-splits, of fa2-rest-costs.
  CHECK(fitted == 177 + 364 + 233 + 136);
  for (const JudgedAnswer& each : judged_answers(comparison)) CHECK_FALSE(of_fitted(each));
}

TEST_CASE("a regime of 20 answers holds from 17 to 19 of them") {
  const auto verdict = [](std::size_t inside, std::size_t outside) {
    return trust(answers(inside, outside)).front().verdict;
  };
  CHECK(verdict(16, 4) == TrustVerdict::kNarrow);
  CHECK(verdict(17, 3) == TrustVerdict::kHolds);
  CHECK(verdict(19, 1) == TrustVerdict::kHolds);
  CHECK(verdict(20, 0) == TrustVerdict::kWide);
  CHECK(verdict(0, 19) == TrustVerdict::kFew);
  CHECK(verdict(97, 3) == TrustVerdict::kHolds);
  CHECK(verdict(98, 2) == TrustVerdict::kWide);
}

TEST_CASE("a row sums up the answers of one regime on one device") {
  std::vector<JudgedAnswer> mixed = {answer(100), answer(120), answer(95), answer(50, "b")};
  mixed.push_back(mixed.front());
  mixed.back().device = "h200";
  const std::vector<TrustRow> rows = trust(mixed);
  REQUIRE(rows.size() == 3);
  CHECK((rows[0].device == "h100" && rows[0].regime == "a" && rows[1].regime == "b" && rows[2].device == "h200"));
  CHECK((rows[0].points == 3 && rows[0].inside == 2));
  CHECK(rows[0].share == Approx(2.0 / 3));
  CHECK(rows[0].width == Approx(0.1));
  CHECK(rows[0].median_error == Approx(0.05));  // of 0, .2 and .05
  CHECK(rows[0].worst_error == Approx(0.2));
  CHECK(trust({}).empty());
}

TEST_CASE("stored answers are refused where a number is missing or not positive") {
  const auto parse = [](const std::string& rows) {
    return parse_judged_answers(R"({"schema": "natten-sim.judged-answers/1", "groups": [{"kind": "time", "device": "h100",
        "regime": "r", "suite": "s", "answers": [)" + rows + "]}]}", "here");
  };
  CHECK(parse(R"(["p", 2, 1, 3, 2.5])") == std::vector<JudgedAnswer>{{"time", "h100", "r", "s", "p", 2, 1, 3, 2.5}});
  for (const char* rows : {R"(["p", 2, 1, 3])", R"([1, 2, 1, 3, 2])", R"(["p", 2, 1, "3", 2])", R"(["p", 0, 0, 3, 2])",
                           R"(["p", 2, 1, 3, -2])", R"({"point": "p"})"}) {
    INFO(rows);
    CHECK_THROWS_AS(parse(rows), MalformedData);
  }
}

TEST_CASE("no regime with twenty answers holds less than 85 per cent") {
  const std::vector<TrustRow> rows = trust(stored_judged_answers());
  std::size_t judged = 0;
  for (const TrustRow& row : rows) {
    INFO(row.kind << " " << row.device << " " << row.regime << ": " << row.inside << " of " << row.points);
    CHECK(row.verdict != TrustVerdict::kNarrow);
    judged += row.verdict == TrustVerdict::kFew ? 0 : 1;
  }
  CHECK(judged >= 20);
}

/// That `judged` sums up these errors: the smallest bound that, of n of them and a further one, all equally likely to be
/// the largest, holds at least nine of ten ranks.
void check_quantile(const JudgedLaunches& judged, const std::vector<double>& errors) {
  CHECK(static_cast<std::size_t>(judged.points) == errors.size());
  const auto within = [&](double bound) {
    return static_cast<double>(std::count_if(errors.begin(), errors.end(), [&](double each) { return each <= bound; }));
  };
  const double wanted = 0.9 * static_cast<double>(errors.size() + 1);
  CHECK(within(judged.error) >= wanted);
  CHECK(within(judged.error - 2e-4) < wanted);  // stored to four digits, rounded up
}

TEST_CASE("the error that widens a time's interval is the conformal quantile of its judged launches, all, short and long") {
  std::map<std::tuple<std::string, std::string>, std::vector<double>> errors;
  for (const JudgedAnswer& each : stored_judged_answers()) {
    if (each.kind == "time") errors[{each.device, each.regime}].push_back(std::abs(each.measured / each.predicted - 1));
  }
  std::size_t compared = 0, of_length = 0;
  for (const KernelCosts& costs : builtin_catalog().kernel_costs) {
    for (const PassCosts& pass : costs.passes) {
      if (!pass.evidence.judged) continue;
      const std::string regime = costs.kernel + (pass.pass == Walk::kForward ? " forward" : " backward") + ", head dim " +
                                 std::to_string(costs.head_dim);
      INFO(costs.device << " " << regime);
      const std::vector<double> few = errors[{costs.device, regime + ", short"}], most = errors[{costs.device, regime}];
      std::vector<double> all = few;
      all.insert(all.end(), most.begin(), most.end());
      check_quantile(*pass.evidence.judged, all);
      CHECK(pass.evidence.interval >= pass.evidence.judged->error);
      const std::vector<JudgedLaunches>& by_length = pass.evidence.judged_by_length;
      for (const JudgedLaunches& judged : by_length) check_quantile(judged, judged.length == LaunchLength::kShort ? few : most);
      const std::size_t expected = few.empty() || most.empty() ? 0 : (few.size() >= 9 ? 1 : 0) + (most.size() >= 9 ? 1 : 0);
      CHECK(by_length.size() == expected);
      of_length += by_length.size();
      ++compared;
    }
  }
  CHECK(compared >= 10);
  CHECK(of_length >= 20);
}

TEST_CASE("stored answers are what today's models say of the recordings") {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<JudgedAnswer>> stored;
  for (const JudgedAnswer& each : stored_judged_answers()) stored[{each.suite, each.device, each.point}].push_back(each);
  const std::vector<JudgedAnswer> now = judged_answers(test::quick_comparison());
  CHECK(now.size() > 500);
  for (const JudgedAnswer& each : now) {
    INFO(each.suite << " " << each.device << " " << each.point);
    const auto same = [&](const JudgedAnswer& other) {
      return other.kind == each.kind && other.regime == each.regime && other.predicted == Approx(each.predicted) &&
             other.low == Approx(each.low) && other.high == Approx(each.high) && other.measured == Approx(each.measured);
    };
    const std::vector<JudgedAnswer>& known = stored[{each.suite, each.device, each.point}];
    CHECK(std::any_of(known.begin(), known.end(), same));
  }
}

}  // namespace trust_test

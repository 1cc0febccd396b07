// What `validate --freeze` stores before anybody measures.
#include <algorithm>
#include <map>
#include <set>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/compare/frozen.hpp>

#include "catch.hpp"
#include "shipped_recordings.hpp"

namespace frozen_test {

using namespace natten_sim;
using namespace natten_sim::validate;

Suite suite_named(const std::string& name) { return find_suite(builtin_suites(), name); }

TEST_CASE("what is frozen is what a comparison holds against a recording later") {
  const Suite suite = suite_named("short-draw");
  const Device& device = builtin_catalog().device("h200");
  std::map<std::pair<std::string, std::string>, Prediction> frozen;
  for (const FrozenPrediction& each : freeze({suite}, device, Fidelity::kClosedForm).predictions)
    frozen[{key_of(each.point), each.prediction.model}] = each.prediction;
  const std::vector<Recording>& shipped = test::shipped_recordings();
  const auto recording = std::find_if(shipped.begin(), shipped.end(), [](const Recording& each) { return each.head.suite == "short-draw"; });
  const Comparison comparison = compare({*recording}, {suite}, {device});
  CHECK(comparison.rows.size() == frozen.size());
  for (const ComparisonRow& row : comparison.rows) {
    INFO(row.point);
    const Prediction& before = frozen.at({row.point, row.model});
    CHECK(before.value == row.predicted);
    REQUIRE(before.interval);
    CHECK(before.interval->low == row.interval->low);
    CHECK(before.interval->high == row.interval->high);
  }
}

TEST_CASE("quantities that a suite does not measure are not frozen") {
  Suite suite = suite_named("stream");
  suite.points.resize(3);
  const Device& device = builtin_catalog().device("h200");
  const auto quantities = [&] {
    std::set<std::string> found;
    for (const FrozenPrediction& each : freeze({suite}, device, Fidelity::kClosedForm).predictions)
      found.insert(each.prediction.counter);
    return found;
  };
  REQUIRE(quantities().contains("l2_read_sectors"));
  std::erase(suite.counters, "l2_read_sectors");
  CHECK_FALSE(quantities().contains("l2_read_sectors"));
}

TEST_CASE("a point without a prediction is named, and progress ends at 1") {
  const Suite suite = suite_named("short-draw");
  double last = 0;
  // Nobody fitted costs of FlashAttention-2 or FlexAttention on an A10.
  const FrozenPredictions frozen =
      freeze({suite}, builtin_catalog().device("a10"), Fidelity::kClosedForm, [&](double done) { last = done; });
  CHECK(frozen.device == "a10");
  CHECK(frozen.predictions.empty());
  CHECK(frozen.silent.size() == suite.points.size());
  CHECK(frozen.silent.front() == "short-draw: " + key_of(suite.points.front()));
  CHECK(last == 1);
}

}  // namespace frozen_test

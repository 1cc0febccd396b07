#include <algorithm>
#include <cmath>
#include <map>

#include <natten_sim/core/device.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/models/scatter/contention_fit.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/validate/cases/scatter.hpp>
#include <natten_sim/validate/compare/suite.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "catch.hpp"
#include "shipped_recordings.hpp"

namespace scatter_case_test {

using namespace natten_sim;
using namespace natten_sim::validate;

/// Points that constants were fitted to, and points that were predicted with them before they were measured.
bool counts(const std::string& suite, bool fitted) {
  if (!fitted) return suite == "scatter-fifth";
  return suite == "scatter" || suite == "scatter-causes" || suite == "scatter-queued";
}

void check_errors_of(const std::string& name) {
  std::map<ScatterKind, SweepError> found;
  std::map<ScatterKind, double> logs;
  study::Context context = study::default_context();
  for (const Recording& recording : test::shipped_recordings()) {
    if (recording.head.device.profile != name) continue;
    for (const RecordedRow& row : recording.rows) {
      const auto* const point = row.point.as<ScatterCase>();
      if (point == nullptr || !counts(recording.head.suite, point->fitted)) continue;
      study::ScatterQuestion question = point->question(name);
      question.details.calibration = true;
      const study::ScatterAnswer answer = study::scatter(question, context);
      const ScatterKind kind = *answer.calibration->kind;
      SweepError& error = found[kind];
      ++(point->fitted ? error.fitted_points : error.unfitted_points);
      if (point->fitted) continue;
      const ContentionPrediction& time = answer.cost.prediction;
      const double ratio = (time.time_ns - time.host_launch_ns) / (row.timing->milliseconds.median * 1e6);
      error.unfitted_worst_ratio = std::max({error.unfitted_worst_ratio, ratio, 1 / ratio});
      logs[kind] += std::abs(std::log(ratio));
    }
  }
  const Device& device = context.catalog.device(name);
  REQUIRE(device.atomics->sweep.has_value());
  CHECK(device.atomics->sweep->errors.size() == found.size());
  for (const SweepError& stored : device.atomics->sweep->errors) {
    const SweepError& error = found[stored.kind];
    INFO(name << " " << to_string(stored.kind) << ": " << error.fitted_points << " fitted, "
              << error.unfitted_points << " not, worst " << error.unfitted_worst_ratio << ", mean "
              << std::exp(logs[stored.kind] / static_cast<double>(error.unfitted_points)));
    CHECK(error.fitted_points == stored.fitted_points);
    CHECK(error.unfitted_points == stored.unfitted_points);
    CHECK(std::abs(error.unfitted_worst_ratio - stored.unfitted_worst_ratio) < 0.006);
    CHECK(std::abs(std::exp(logs[stored.kind] / static_cast<double>(error.unfitted_points)) -
                   stored.unfitted_mean_ratio) < 0.006);
  }
}

TEST_CASE("the errors that answers carry are those of points that were predicted first: of an H100") {
  check_errors_of("h100");  // whose law has no constant of an H100: no point was fitted
}

TEST_CASE("the errors that answers carry are those of points that were predicted first: of an H200",
          "[.nightly][long]") {
  check_errors_of("h200");
}

TEST_CASE("more scatters are predicted than fitted, and no miss is excused") {
  std::size_t fitted = 0, predicted = 0;
  for (const Point& point : find_suite(builtin_suites(), "scatter").points)
    ++(point.as<ScatterCase>()->fitted ? fitted : predicted);
  CHECK(fitted > 200);
  CHECK(predicted > fitted);
  CHECK(find_suite(builtin_suites(), "scatter").known_misses.empty());
}

TEST_CASE("a scatter is predicted with the constants of the device that is given") {
  ScatterCase point;
  point.distribution = ZipfRows{1.5};
  point.updates = 16384;
  const Device shipped = builtin_catalog().device("h200");
  Device slower = shipped;  // of the same name
  slower.atomics.value().sweep.value().constants.cas_sector_ns *= 2;
  const auto time = [&](const Device& device) {
    return point.predict(device, Fidelity::kClosedForm).at(0).value;
  };
  CHECK(time(slower) > 1.5 * time(shipped));  // retries are all but the whole time
}

TEST_CASE("a scatter is named by all that it is, and judged apart when it was fitted") {
  ScatterCase point;
  point.distribution = ZipfRows{1.5};
  CHECK(point.key() == "scatter torch-scatter-add bf16 65536 x256 into 32768 zipf:1.5");
  CHECK(point.group() == "scatter half contended, predicted");
  point.fitted = true;
  point.dtype = Dtype::kFp32;
  point.distribution = UniformRows{};
  CHECK(point.group() == "scatter fp32 uniform, fitted");
}

}  // namespace scatter_case_test

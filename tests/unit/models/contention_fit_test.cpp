// A fit of contention finds the constants that its points were made with.
#include <cmath>
#include <vector>

#include <natten_sim/models/scatter/contention_fit.hpp>

#include "catch.hpp"
#include "round_profile.hpp"

namespace contention_fit_test {

using namespace natten_sim;
using test::round_profile;

bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * std::abs(b); }

/// 256 channels; uniform rows, or as many updates of the hottest of them.
ContentionPoint point_of(Dtype type, std::int64_t updates, std::int64_t multiplicity) {
  ContentionPoint point{.device = "round",
                        .updates = updates,
                        .rows = updates,
                        .width = 256,
                        .type = type,
                        .max_multiplicity = multiplicity,
                        .fitted = true};
  if (multiplicity > 1) point.distribution = ZipfRows{};
  return point;
}

TEST_CASE(
    "constants that times and sectors were made with are found again, from the points that are fitted") {
  ContentionProfile truth = round_profile();
  truth.launch_ns = 5000;
  truth.issue_red_ns = 0.5;
  truth.issue_cas_ns = 2;
  truth.red_service_ns = 30;
  truth.cas_service_ns = 5;
  truth.slice_sectors_per_ns = truth.dram_bytes_per_ns = 1e9;
  truth.warps_per_sm = 1e6;  // nothing else bounds
  std::vector<ContentionPoint> points;
  const auto add = [&](ContentionPoint point, double time_ns) {
    point.time_ns = time_ns;
    points.push_back(point);
  };
  for (const std::int64_t updates : {10000, 30000, 90000}) {
    const double warps = static_cast<double>(updates) * 256 / 32;
    add(point_of(Dtype::kFp32, updates, 1), 5000 + 0.5 * warps);
    add(point_of(Dtype::kBf16, updates, 1), 5000 + 2 * warps);
    const std::int64_t hottest = updates;  // all
    add(point_of(Dtype::kFp32, updates, hottest), 5000 + 30 * static_cast<double>(hottest));
    add(point_of(Dtype::kFp16, updates, hottest),
        predict_contention(load_of(point_of(Dtype::kFp16, updates, hottest)), truth).time_ns);
    CHECK(predict_contention(load_of(point_of(Dtype::kFp16, updates, hottest)), truth).collapsed);
  }
  const std::size_t used = points.size();
  add(point_of(Dtype::kFp32, 777, 1), 1e12);
  points.back().fitted = false;
  add(point_of(Dtype::kFp32, 777, 1), 1e12);
  points.back().device = "another";
  // Rows of 512 bytes, 16 sectors. Each update sends two lanes' sectors; each success of the hottest row is
  // met by all other contenders of its four lines: of 10 x 10 warps in flight and 8 a row 12.5.
  std::vector<ContentionCounter> counters;
  for (const double factor : {0.5, 2.0}) {  // whose geometric mean is 1
    ContentionCounter counter{
        .sms = 10, .updates = 50000, .width = 256, .max_multiplicity = 8000, .type = Dtype::kBf16};
    const double share = changing_share(Dtype::kBf16, UpdateValues::kNormal, 0, 8000);
    counter.atom_sectors = 2 * 50000 * 16 + (12.5 * factor - 1) * 2 * 8000 * share * 16;
    counters.push_back(counter);
  }
  ContentionProfile forgotten = truth;
  for (double* constant : {&forgotten.launch_ns, &forgotten.issue_red_ns, &forgotten.issue_cas_ns,
                           &forgotten.red_service_ns, &forgotten.cas_service_ns, &forgotten.warps_in_flight})
    *constant = 77;
  forgotten.sweep.emplace();
  const ContentionFit fit = fit_contention(forgotten, points, counters);
  CHECK_FALSE(fit.profile.sweep.has_value());
  CHECK(near(fit.profile.launch_ns, 5000, 1e-6));
  CHECK(near(fit.profile.issue_red_ns, 0.5, 1e-6));
  CHECK(near(fit.profile.issue_cas_ns, 2, 1e-6));
  CHECK(near(fit.profile.red_service_ns, 30, 1e-6));
  CHECK(near(fit.profile.cas_service_ns, 5, 1e-6));
  CHECK(near(fit.profile.warps_in_flight, 10, 1e-6));
  CHECK(fit.points == static_cast<std::int64_t>(used));
  CHECK(fit.rms_log_error < 1e-6);
  CHECK(fit_contention(forgotten, points, {}).profile.warps_in_flight == 77);

  for (std::size_t i = 0; i < used; ++i) points[i].time_ns *= 3;  // a slower device fits as well
  CHECK(near(fit_contention(forgotten, points, counters).profile.red_service_ns, 90, 1e-6));
  for (std::size_t i = 0; i < used; ++i) points[i].time_ns /= 3;
  points[3].time_ns *= 1.5;
  const ContentionFit bent = fit_contention(forgotten, points, counters);
  // Of three 16-bit services one is half as much again: their geometric mean is 1.5^(1/3) of it.
  const double served = points[3].time_ns - 5000, should = points[3].time_ns / 1.5 - 5000;
  CHECK(near(bent.profile.cas_service_ns, 5 * std::cbrt(served / should), 1e-6));
  double squares = 0;
  for (std::size_t i = 0; i < used; ++i) {
    const double error =
        std::log(predict_contention(load_of(points[i]), bent.profile).time_ns / points[i].time_ns);
    squares += error * error;
  }
  CHECK(near(bent.rms_log_error, std::sqrt(squares / 12), 1e-9));
}

}  // namespace contention_fit_test

#include <cmath>
#include <limits>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/fit/levenberg_marquardt.hpp>

#include "catch.hpp"

using namespace natten_sim;

namespace levenberg_marquardt_test {

bool close(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }

TEST_CASE("a straight line through four points has the textbook slope, intercept and standard errors") {
  // y = 1, 3, 4, 8 at x = 0, 1, 2, 3: mean x 1.5, mean y 4, Sxx 5, Sxy 11, so slope 2.2, intercept 0.7; the
  // residuals 0.3, -0.1, -1.3 + 0.2 = -1.1 and 0.7 have squares 0.09 + 0.01 + 1.21 + 0.49 = 1.8.
  const LevenbergMarquardtFit fit = levenberg_marquardt({.model =
                                                     [](const std::vector<double>& p) {
                                                       std::vector<double> y;
                                                       for (int x = 0; x < 4; ++x)
                                                         y.push_back(p[0] + p[1] * x);
                                                       return y;
                                                     },
                                                 .observed = {1, 3, 4, 8},
                                                 .starts = {{0, 0}}});
  CHECK(close(fit.parameters[0], 0.7, 1e-5));
  CHECK(close(fit.parameters[1], 2.2, 1e-5));
  CHECK(close(fit.rms_error, std::sqrt(1.8 / 4), 1e-8));
  CHECK(fit.rank == 2);
  // s^2 = 1.8 / 2; var(slope) = s^2 / Sxx; var(intercept) = s^2 (1/4 + 1.5^2 / Sxx).
  CHECK(close(fit.standard_errors[1], std::sqrt(0.9 / 5), 1e-5));
  CHECK(close(fit.standard_errors[0], std::sqrt(0.9 * (0.25 + 2.25 / 5)), 1e-5));
}

TEST_CASE("a parameter that would be negative stays at 0, and the others take the best values left") {
  // y = p0 + p1 x with falling y: p1 = 0, p0 the mean.
  const LevenbergMarquardtFit fit =
      levenberg_marquardt({.model =
                             [](const std::vector<double>& p) {
                               return std::vector<double>{p[0], p[0] + p[1], p[0] + 2 * p[1]};
                             },
                         .observed = {3, 2, 1},
                         .starts = {{5, 5}}});
  CHECK(close(fit.parameters[0], 2, 1e-5));
  CHECK(close(fit.parameters[1], 0, 1e-5));
}

TEST_CASE("parameters that only show as a sum leave the rank one short and have no standard errors") {
  const LevenbergMarquardtFit fit = levenberg_marquardt({.model =
                                                     [](const std::vector<double>& p) {
                                                       const double sum = p[0] + p[1];
                                                       return std::vector<double>{sum, 2 * sum, 3 * sum};
                                                     },
                                                 .observed = {1, 2, 3.1},
                                                 .starts = {{0.1, 0.7}}});
  CHECK(fit.rank == 1);
  CHECK(fit.standard_errors.empty());
  CHECK(close(fit.parameters[0] + fit.parameters[1], (1 + 4 + 9.3) / 14, 1e-5));
}

TEST_CASE("a parameter that changes nothing leaves the rank one short, wherever it stands") {
  // The mean of 1, 2 and 6 by the other parameter.
  for (const std::size_t used : {0u, 1u}) {
    const LevenbergMarquardtFit fit = levenberg_marquardt(
        {.model = [used](const std::vector<double>& p) { return std::vector<double>(3, p[used]); },
         .observed = {1, 2, 6},
         .starts = {{1, 1}}});
    CHECK(fit.rank == 1);
    CHECK(fit.standard_errors.empty());
    CHECK(close(fit.parameters[used], 3, 1e-5));
  }
}

TEST_CASE("with two valleys the deeper one wins whatever the order of the starts") {
  // (p - 1)^2 (p - 4)^2 / 4 + p / 10 against 0: a valley near 1 and a shallower one near 4.
  const auto model = [](const std::vector<double>& p) {
    return std::vector<double>{(p[0] - 1) * (p[0] - 4) / 2, p[0] / 10};
  };
  for (const auto& starts : {std::vector<std::vector<double>>{{0.5}, {5}}, {{5}, {0.5}}}) {
    const LevenbergMarquardtFit fit = levenberg_marquardt({.model = model, .observed = {0, 0}, .starts = starts});
    CHECK(close(fit.parameters[0], 1, 0.05));
  }
}

TEST_CASE("a kink is no obstacle: |p - 2| + |q - 1| observed 0 is found") {
  const LevenbergMarquardtFit fit =
      levenberg_marquardt({.model =
                             [](const std::vector<double>& p) {
                               return std::vector<double>{std::abs(p[0] - 2), std::abs(p[1] - 1)};
                             },
                         .observed = {0, 0},
                         .starts = {{0, 3}}});
  CHECK(close(fit.parameters[0], 2, 2e-3));
  CHECK(close(fit.parameters[1], 1, 2e-3));
}

TEST_CASE("a fit refuses what it cannot use") {
  const auto same = [](const std::vector<double>& p) { return p; };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(levenberg_marquardt({.model = same, .observed = {}, .starts = {{1}}}), InvalidParameter);
  CHECK_THROWS_AS(levenberg_marquardt({.model = same, .observed = {1}, .starts = {}}), InvalidParameter);
  CHECK_THROWS_AS(levenberg_marquardt({.model = same, .observed = {1}, .starts = {{}}}), InvalidParameter);
  CHECK_THROWS_AS(levenberg_marquardt({.model = same, .observed = {1}, .starts = {{-1}}}), InvalidParameter);
  CHECK_THROWS_AS(levenberg_marquardt({.model = same, .observed = {1}, .starts = {{nan}}}), InvalidParameter);
  CHECK_THROWS_AS(levenberg_marquardt({.model = same, .observed = {nan}, .starts = {{1}}}), InvalidParameter);
  CHECK_THROWS_AS(levenberg_marquardt({.model = same, .observed = {1}, .starts = {{1}, {1, 2}}}),
                  InvalidParameter);
  CHECK_THROWS_AS(levenberg_marquardt({.model = same, .observed = {1, 2}, .starts = {{1}}}), InvalidParameter);
  CHECK_THROWS_AS(levenberg_marquardt({.model = same, .observed = {1}, .starts = {{1}}, .derivative_step = 0}),
                  InvalidParameter);
  CHECK_THROWS_AS(
      levenberg_marquardt({.model = [&](const std::vector<double>&) { return std::vector<double>{nan}; },
                         .observed = {1},
                         .starts = {{1}}}),
      InvalidParameter);
}

TEST_CASE("in a unit a hundred times as large the slope, its error and the rank are the same") {
  // The line above, of parameters that change what is observed by hundredths.
  const LevenbergMarquardtFit fit = levenberg_marquardt({.model =
                                                             [](const std::vector<double>& p) {
                                                               std::vector<double> y;
                                                               for (int x = 0; x < 4; ++x)
                                                                 y.push_back(0.01 * (p[0] + p[1] * x));
                                                               return y;
                                                             },
                                                         .observed = {1, 3, 4, 8},
                                                         .starts = {{0, 0}}});
  CHECK(fit.rank == 2);
  CHECK(close(fit.parameters[1], 220, 1e-3));
  CHECK(close(fit.standard_errors[1], 100 * std::sqrt(0.9 / 5), 1e-3));
  CHECK(close(fit.standard_errors[0], 100 * std::sqrt(0.9 * (0.25 + 2.25 / 5)), 1e-3));
}

TEST_CASE("evaluations are the calls of the model, over all starts") {
  std::int64_t calls = 0;
  const auto model = [&](const std::vector<double>& p) {
    ++calls;
    return std::vector<double>{p[0], 2 * p[0], p[0] * p[0]};
  };
  const LevenbergMarquardtFit fit =
      levenberg_marquardt({.model = model, .observed = {1, 2, 3}, .starts = {{0}, {9}}});
  CHECK(fit.evaluations == calls);
  CHECK(fit.predicted.size() == 3);
  CHECK(close(fit.predicted[2], fit.parameters[0] * fit.parameters[0], 1e-9));
}

}  // namespace levenberg_marquardt_test

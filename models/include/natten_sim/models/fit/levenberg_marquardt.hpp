#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace natten_sim {

/// Finds parameters p >= 0 that minimise |model(p) - observed|^2. The model may be piecewise linear, as
/// makespans are in costs. So derivatives are differences over `derivative_step`, and several starts are
/// tried.
struct LevenbergMarquardtProblem {
  /// As many values as `observed`, all finite, for parameters that are not negative.
  std::function<std::vector<double>(const std::vector<double>& parameters)> model;
  std::vector<double> observed;
  std::vector<std::vector<double>> starts;  ///< one or more, of equal size
  double derivative_step = 1e-3;            ///< absolute, in units of the parameters
};

struct LevenbergMarquardtFit {
  std::vector<double> parameters;
  std::vector<double> predicted;
  double rms_error = 0;  ///< root of the mean squared residual
  /// Rank of the derivatives at the solution. If it is below the number of parameters, the observations do
  /// not tell all of them apart, and the values found are one choice among many.
  std::int32_t rank = 0;
  /// Root of the diagonal of s^2 (J^T J)^-1, s^2 = squared residuals / degrees of freedom. Empty when the
  /// rank is deficient or no degree of freedom is left.
  std::vector<double> standard_errors;
  std::int64_t evaluations = 0;  ///< evaluations of the model, over all starts
};

/// Levenberg-Marquardt (Marquardt's scaling, steps by QR with column pivoting), projected on p >= 0, from
/// every start; the smallest sum of squares wins, ties go to the earlier start. Finds a local minimum for
/// each start. About 2 p + 2 evaluations an iteration, at most 60 iterations a start.
/// @throws InvalidParameter when sizes do not match, or a start, a step or a value of the model is out of
///         range.
[[nodiscard]] LevenbergMarquardtFit levenberg_marquardt(const LevenbergMarquardtProblem& problem);

}  // namespace natten_sim

#include <algorithm>
#include <cmath>
#include <string>

#include <Eigen/Dense>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/fit/levenberg_marquardt.hpp>
#include <natten_sim/models/tiles/kernel_fit.hpp>

namespace natten_sim {
namespace {

/// Of a run that does not scatter: timers, clocks, and what the model leaves out.
constexpr double kRunSigma = 0.02;
constexpr const char* kNames[] = {"bounds_masked", "masked",   "axis",       "cta_tiles",
                                  "launch_us",     "slowdown", "slowdown_ms"};
constexpr std::size_t kRequired = 5;

double predicted_ms(const MeasuredLaunch& run, const PassCosts& costs) {
  return launch_time(run.work, with_rest(costs, run.rest_ms)).total_ms;
}

/// The first fitted number multiplies a guess of the unmasked tile, the others their priors.
class CostModel {
 public:
  CostModel(const std::vector<MeasuredLaunch>& runs, const std::vector<CostPrior>& priors) {
    if (runs.empty()) throw InvalidParameter("runs", "0", "1 measured run or more");
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
      const auto found = std::find_if(priors.begin(), priors.end(),
                                      [&](const CostPrior& prior) { return prior.name == kNames[i]; });
      if (found == priors.end()) {
        if (i < kRequired)
          throw InvalidParameter("priors", std::string("without ") + kNames[i], "all of them");
        break;
      }
      priors_.push_back(*found);
    }
    guess_us_ = 0;
    for (const MeasuredLaunch& run : runs) {
      if (!(run.ms > 0)) throw InvalidParameter("ms", std::to_string(run.ms), "a positive time");
      const double tile_us =
          1e3 * run.ms * static_cast<double>(run.work.workers) / std::max(1.0, run.work.tiles());
      guess_us_ = guess_us_ == 0 ? tile_us : std::min(guess_us_, tile_us);
    }
  }

  [[nodiscard]] std::size_t size() const { return 1 + priors_.size(); }

  [[nodiscard]] PassCosts costs(const std::vector<double>& factors) const {
    const auto number = [&](std::size_t i) {
      return i < priors_.size() ? priors_[i].value * factors[i + 1] : 0.0;
    };
    PassCosts costs;
    costs.unmasked_tile_us = guess_us_ * factors[0];
    costs.bounds_masked_tile_us = costs.unmasked_tile_us * number(0);
    for (std::size_t axes = 1; axes <= 3; ++axes) {
      const double added = (number(1) - 1) * std::pow(number(2), static_cast<double>(axes) - 2);
      costs.masked_tile_us[axes - 1] = costs.unmasked_tile_us * (1 + added);
    }
    costs.cta_us = costs.unmasked_tile_us * number(3);
    costs.launch_us = number(4);
    costs.slowdown = number(5);
    costs.slowdown_ms = priors_.size() > 6 ? number(6) : 1;
    return costs;
  }

  [[nodiscard]] std::vector<double> residuals(const std::vector<MeasuredLaunch>& runs,
                                              const std::vector<double>& given) const {
    std::vector<double> factors = given;
    for (double& factor : factors) factor = std::max(factor, 1e-3);
    const PassCosts tried = costs(factors);
    std::vector<double> values;
    for (const MeasuredLaunch& run : runs) {
      const double predicted = std::max(predicted_ms(run, tried), 1e-9);
      const double z = std::log(predicted / run.ms) / std::hypot(kRunSigma, run.spread / 4);
      values.push_back(std::copysign(std::sqrt(2 * (std::sqrt(1 + z * z) - 1)), z));
    }
    for (std::size_t i = 0; i < priors_.size(); ++i)
      values.push_back(std::log(factors[i + 1]) / priors_[i].spread);
    return values;
  }

  [[nodiscard]] std::vector<double> solve(const std::vector<MeasuredLaunch>& runs) const {
    LevenbergMarquardtProblem problem;
    problem.model = [&](const std::vector<double>& factors) { return residuals(runs, factors); };
    problem.observed.assign(runs.size() + priors_.size(), 0.0);
    problem.starts = {std::vector<double>(size(), 1.0)};
    problem.derivative_step = 1e-4;
    return levenberg_marquardt(problem).parameters;
  }

  /// Derivatives of `values(factors)` in the logarithms of the factors.
  template <typename Values>
  [[nodiscard]] Eigen::MatrixXd derivatives(const std::vector<double>& factors, const Values& values) const {
    constexpr double kStep = 1e-4;
    const std::vector<double> base = values(factors);
    Eigen::MatrixXd matrix(static_cast<Eigen::Index>(base.size()), static_cast<Eigen::Index>(size()));
    for (std::size_t column = 0; column < size(); ++column) {
      std::vector<double> moved = factors;
      moved[column] *= std::exp(kStep);
      const std::vector<double> shifted = values(moved);
      for (std::size_t row = 0; row < base.size(); ++row)
        matrix(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)) =
            (shifted[row] - base[row]) / kStep;
    }
    return matrix;
  }

 private:
  std::vector<CostPrior> priors_;
  double guess_us_ = 0;
};

/// Errors of runs predicted without themselves.
void state_errors(const std::vector<MeasuredLaunch>& runs, CostFit& fit) {
  constexpr double kAssumedInterval = 0.15;  // of costs that nothing was held against
  double sum = 0, squares = 0, worst = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!fit.left_out_ms[i]) {
      fit.costs.evidence.interval = kAssumedInterval;
      return;
    }
    const double error = std::abs(*fit.left_out_ms[i] / runs[i].ms - 1);
    sum += error, squares += error * error, worst = std::max(worst, error);
  }
  const auto count = static_cast<double>(runs.size());
  fit.costs.evidence.left_out = FitErrors{sum / count, worst};
  fit.costs.evidence.interval = std::max(2 * std::sqrt(squares / count), 2 * kRunSigma);
}

}  // namespace

CostFit fit_costs(const std::vector<MeasuredLaunch>& runs, const std::vector<CostPrior>& priors) {
  const CostModel model(runs, priors);
  const std::vector<double> factors = model.solve(runs);
  CostFit fit;
  fit.costs = model.costs(factors);
  fit.costs.evidence.runs = static_cast<std::int64_t>(runs.size());
  for (const MeasuredLaunch& run : runs)
    fit.predicted_ms.push_back(predicted_ms(run, fit.costs));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<MeasuredLaunch> others = runs;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    fit.left_out_ms.emplace_back();
    if (others.empty()) continue;
    const CostModel without(others, priors);
    fit.left_out_ms.back() = predicted_ms(runs[i], without.costs(without.solve(others)));
  }
  state_errors(runs, fit);
  const Eigen::MatrixXd jacobian =
      model.derivatives(factors, [&](const std::vector<double>& f) { return model.residuals(runs, f); });
  const Eigen::MatrixXd covariance = (jacobian.transpose() * jacobian)
                                         .ldlt()
                                         .solve(Eigen::MatrixXd::Identity(jacobian.cols(), jacobian.cols()));
  fit.covariance.assign(covariance.data(), covariance.data() + covariance.size());  // symmetric
  return fit;
}

std::vector<SharpeningRun> sharpening_runs(const CostFit& fit, const std::vector<CostPrior>& priors,
                                           const std::vector<LaunchWork>& candidates, std::size_t most) {
  if (candidates.empty()) return {};
  // The fitted numbers again: factors 1 around the fitted costs, which the priors are replaced by.
  std::vector<CostPrior> fitted = priors;
  const PassCosts& costs = fit.costs;
  const double unmasked = costs.unmasked_tile_us;
  const double masked = costs.masked_tile_us[1] / unmasked;
  const double axis = (costs.masked_tile_us[2] / unmasked - 1) / (masked - 1);
  const double values[] = {costs.bounds_masked_tile_us / unmasked,
                           masked,
                           axis,
                           costs.cta_us / unmasked,
                           costs.launch_us,
                           costs.slowdown,
                           costs.slowdown_ms};
  for (CostPrior& prior : fitted) {
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
      if (prior.name == kNames[i]) prior.value = values[i];
    }
  }
  MeasuredLaunch unit;  // one tile on one worker: the guess is then the fitted tile
  unit.work.workers = 1;
  unit.work.unmasked_tiles = 1;
  unit.ms = 1e-3 * unmasked;
  const CostModel model({unit}, fitted);
  const auto size = static_cast<Eigen::Index>(model.size());
  Eigen::MatrixXd covariance = Eigen::Map<const Eigen::MatrixXd>(fit.covariance.data(), size, size);
  const Eigen::MatrixXd slopes =
      model.derivatives(std::vector<double>(model.size(), 1.0), [&](const std::vector<double>& factors) {
        std::vector<double> logs;
        for (const LaunchWork& work : candidates)
          logs.push_back(std::log(launch_time(work, model.costs(factors)).total_ms));
        return logs;
      });
  std::vector<SharpeningRun> chosen;
  while (chosen.size() < std::min(most, candidates.size())) {
    Eigen::Index best = 0;
    Eigen::VectorXd variances = (slopes * covariance * slopes.transpose()).diagonal();
    for (const SharpeningRun& each : chosen) variances(static_cast<Eigen::Index>(each.candidate)) = -1;
    variances.maxCoeff(&best);
    chosen.push_back({static_cast<std::size_t>(best), std::sqrt(std::max(0.0, variances(best)))});
    const Eigen::VectorXd gain = covariance * slopes.row(best).transpose();
    covariance -= gain * gain.transpose() / (variances(best) + kRunSigma * kRunSigma);
  }
  return chosen;
}

}  // namespace natten_sim

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <Eigen/Dense>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/fit/levenberg_marquardt.hpp>
#include <natten_sim/models/tiles/kernel_fit.hpp>
#include <natten_sim/models/tiles/prior_fit.hpp>

namespace natten_sim {
namespace {

/// Deviation of a run that does not scatter: timers, clocks, and what the model leaves out.
constexpr double kRunSigma = 0.02;
/// In the order of kNames; those from kSlowdown on may be absent.
enum Cost : std::size_t {
  kBoundsMasked,
  kMasked,
  kAxis,
  kCtaTiles,
  kLaunch,
  kSlowdown,
  kSlowdownMs,
  kOneAxis,
  kTwoAxes,
  kThreeAxes,
  kAlone,
  kStepJitter,
  kLockShare,
  kClippedShare,
  kSparedSlowdown,
  kPreparedRate,
  kCausalTwoAxes,
  kCosts
};
constexpr const char* kNames[kCosts] = {"bounds_masked", "masked",      "axis",       "cta_tiles",  "launch_us",
                                        "slowdown",      "slowdown_ms", "one_axis",   "two_axes",   "three_axes",
                                        "alone",       "step_jitter", "lock_share", "clipped_share", "spared_slowdown",
                                        "prepared_rate", "causal_two_axes"};

double predicted_ms(const MeasuredLaunch& run, const PassCosts& costs) {
  return launch_time(run.work, with_rest(costs, run.rest_ms)).total_ms;
}

/// The first fitted number multiplies a guess of the unmasked tile, the others their priors.
class CostModel {
 public:
  CostModel(const std::vector<MeasuredLaunch>& runs, const std::vector<CostPrior>& priors) {
    if (runs.empty()) throw InvalidParameter("runs", "0", "1 measured run or more");
    take_priors(priors);
    guess_us_ = 0;
    for (const MeasuredLaunch& run : runs) {
      if (!(run.ms > 0)) throw InvalidParameter("ms", std::to_string(run.ms), "a positive time");
      const double tile_us =
          1e3 * run.ms * static_cast<double>(run.work.workers) / std::max(1.0, run.work.tiles());
      guess_us_ = guess_us_ == 0 ? tile_us : std::min(guess_us_, tile_us);
      if (run.work.spread) ctas_per_sm_ = run.work.workers / run.work.spread->sms;
    }
  }

  [[nodiscard]] std::size_t size() const { return 1 + priors_.size(); }

  [[nodiscard]] PassCosts costs(const std::vector<double>& factors) const {
    const auto number = [&](Cost cost, double absent) {
      const std::optional<std::size_t>& at = places_[cost];
      return at ? priors_[*at].value * factors[*at + 1] : absent;
    };
    PassCosts costs;
    costs.unmasked_tile_us = guess_us_ * factors[0];
    costs.bounds_masked_tile_us = costs.unmasked_tile_us * number(kBoundsMasked, 1);
    const double added = number(kMasked, 1) - 1, axis = number(kAxis, 1);  // on two axes
    const double pace[3] = {1, number(kTwoAxes, 1), number(kThreeAxes, 1)};
    const double masked[3] = {1 + added * number(kOneAxis, 1 / axis), 1 + added, 1 + added * axis};
    for (std::size_t axes = 0; axes < 3; ++axes) {
      costs.axes_tile_us[axes] = costs.unmasked_tile_us * (pace[axes] - 1);
      costs.masked_tile_us[axes] = costs.unmasked_tile_us * pace[axes] * masked[axes];
    }
    costs.ctas_per_sm = ctas_per_sm_;
    costs.lone_share = std::min(number(kAlone, 0) / static_cast<double>(ctas_per_sm_), 1.0);
    costs.step_jitter = number(kStepJitter, 0);
    costs.lock_share = number(kLockShare, 0);
    costs.clipped_share = std::min(number(kClippedShare, 0), 0.9);
    costs.prepared_bytes_per_s = number(kPreparedRate, 0);
    costs.causal_two_axes = number(kCausalTwoAxes, 1);
    costs.cta_us = costs.unmasked_tile_us * number(kCtaTiles, 0);
    costs.launch_us = number(kLaunch, 0);
    costs.slowdown = number(kSlowdown, 0);
    costs.slowdown_ms = number(kSlowdownMs, 1);
    costs.spared_slowdown = std::min(number(kSparedSlowdown, 0), 1.0);
    return costs;
  }

  [[nodiscard]] std::vector<double> residuals(const std::vector<MeasuredLaunch>& runs,
                                              const std::vector<double>& given) const {
    const std::vector<double> factors = bounded(given);
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
    return bounded(levenberg_marquardt(problem).parameters);
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
  /// No cost is below a thousandth of what is expected of it: residuals do not tell what is less.
  [[nodiscard]] static std::vector<double> bounded(std::vector<double> factors) {
    constexpr double kLeast = 1e-3;
    for (double& factor : factors) factor = std::max(factor, kLeast);
    return factors;
  }

  void take_priors(const std::vector<CostPrior>& priors) {
    for (std::size_t i = 0; i < kCosts; ++i) {
      const auto found = std::find_if(priors.begin(), priors.end(),
                                      [&](const CostPrior& prior) { return prior.name == kNames[i]; });
      if (found != priors.end()) {
        places_[i] = priors_.size();
        priors_.push_back(*found);
      } else if (i < kSlowdown) {
        throw InvalidParameter("priors", std::string("without ") + kNames[i], "all of them");
      }
    }
  }

  std::vector<CostPrior> priors_;
  std::array<std::optional<std::size_t>, kCosts> places_;  ///< in `priors_`
  double guess_us_ = 0;
  std::int64_t ctas_per_sm_ = 1;
};

/// All runs but `left_out` and what repeats it.
std::vector<MeasuredLaunch> without(const std::vector<MeasuredLaunch>& runs, std::size_t left_out) {
  std::vector<MeasuredLaunch> others;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool repeats = !runs[i].problem.empty() && runs[i].problem == runs[left_out].problem;
    if (i != left_out && !repeats) others.push_back(runs[i]);
  }
  return others;
}

/// The 90% quantile for one more run (split conformal); the worst, and half of it again, of few.
double quantile_of(std::vector<double> errors) {
  constexpr double kLevel = 0.9, kWidening = 1.5;
  constexpr std::size_t kFewest = 20;
  std::sort(errors.begin(), errors.end());
  if (errors.size() < kFewest) return kWidening * errors.back();
  const auto rank = static_cast<std::size_t>(std::ceil(kLevel * static_cast<double>(errors.size() + 1)));
  return errors[std::min(rank, errors.size()) - 1];
}

/// Errors of runs predicted without themselves. Kernels whose CTAs share SMs have many runs, of which a single one may
/// tell a cost: their interval is a quantile, that of others twice the root mean square.
void state_errors(const std::vector<MeasuredLaunch>& runs, CostFit& fit) {
  constexpr double kAssumedInterval = 0.15;  // of costs that nothing was held against
  double sum = 0, squares = 0, worst = 0;
  std::vector<double> errors;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!fit.left_out_ms[i]) {
      fit.costs.evidence.interval = kAssumedInterval;
      return;
    }
    const double error = std::abs(*fit.left_out_ms[i] / runs[i].ms - 1);
    sum += error, squares += error * error, worst = std::max(worst, error);
    errors.push_back(error);
  }
  const auto count = static_cast<double>(runs.size());
  fit.costs.evidence.left_out = FitErrors{sum / count, worst};
  fit.costs.evidence.interval = std::max(runs[0].work.spread ? quantile_of(errors) : 2 * std::sqrt(squares / count), 2 * kRunSigma);
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
    const std::vector<MeasuredLaunch> others = without(runs, i);
    fit.left_out_ms.emplace_back();
    if (others.empty()) continue;
    const CostModel model_of_others(others, priors);
    fit.left_out_ms.back() = predicted_ms(runs[i], model_of_others.costs(model_of_others.solve(others)));
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

CostFit prior_fit(const PassCosts& costs, const std::vector<CostPrior>& priors) {
  constexpr double kDeviationsOfInterval = 1.645;  // 90% of a normal distribution
  CostFit fit;
  fit.costs = costs;
  std::vector<double> deviations = {std::log1p(costs.evidence.interval) / kDeviationsOfInterval};
  for (const char* name : kNames) {
    for (const CostPrior& prior : priors) {
      if (prior.name == name) deviations.push_back(prior.spread);
    }
  }
  fit.covariance.assign(deviations.size() * deviations.size(), 0.0);
  for (std::size_t i = 0; i < deviations.size(); ++i)
    fit.covariance[i * (deviations.size() + 1)] = deviations[i] * deviations[i];
  return fit;
}

std::vector<SharpeningRun> sharpening_runs(const CostFit& fit, const std::vector<CostPrior>& priors,
                                           const std::vector<LaunchWork>& candidates, std::size_t most) {
  if (candidates.empty()) return {};
  // The fitted numbers again: factors 1 around the fitted costs, which the priors are replaced by.
  std::vector<CostPrior> fitted = priors;
  const PassCosts& costs = fit.costs;
  const double unmasked = costs.unmasked_tile_us;
  const double masked = costs.masked_tile_us[1] / (unmasked + costs.axes_tile_us[1]);
  const double axis = (costs.masked_tile_us[2] / (unmasked + costs.axes_tile_us[2]) - 1) / (masked - 1);
  const double one_axis = (costs.masked_tile_us[0] / unmasked - 1) / (masked - 1);
  const double values[kCosts] = {costs.bounds_masked_tile_us / unmasked,
                                 masked,
                                 axis,
                                 costs.cta_us / unmasked,
                                 costs.launch_us,
                                 costs.slowdown,
                                 costs.slowdown_ms,
                                 one_axis,
                                 1 + costs.axes_tile_us[1] / unmasked,
                                 1 + costs.axes_tile_us[2] / unmasked,
                                 costs.lone_share * static_cast<double>(costs.ctas_per_sm),
                                 costs.step_jitter,
                                 costs.lock_share,
                                 costs.clipped_share,
                                 costs.spared_slowdown,
                                 costs.prepared_bytes_per_s,
                                 costs.causal_two_axes};
  for (CostPrior& prior : fitted) {
    for (std::size_t i = 0; i < kCosts; ++i) {
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

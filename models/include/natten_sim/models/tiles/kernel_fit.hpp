#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/kernel_costs.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>

namespace natten_sim {

/// The costs of a kernel from a handful of measured times.
///
/// Minimises the sum over runs of rho(log(predicted / measured) / sigma) plus the sum over costs of
/// (log(cost / prior) / spread)^2, by Levenberg-Marquardt. rho is 2 (sqrt(1 + z^2) - 1): far from the rest, a
/// run pulls with constant force only. sigma^2 = 0.02^2 + (spread of the run / 4)^2. The priors keep what
/// few runs leave open near what kernels have shown; the unmasked tile alone has none.
///
/// Fitted are ratios, so that classes share what is common to them: with u the unmasked tile, a bounds-masked
/// one takes u * bounds_masked, a masked one on k axes u * (1 + (masked - 1) * axis^(k - 2)), a CTA
/// u * cta_tiles. With a prior one_axis, on one axis the mask adds that share of what it adds on two. With two_axes and
/// three_axes an unmasked pair takes that often what it takes on one axis. spared_slowdown and causal_two_axes are the
/// members of PassCosts. Of kernels whose CTAs share an SM (LaunchWork::spread) there may be the members of PassCosts
/// alone (lone_share over an even share), step_jitter, lock_share, clipped_share and prepared_rate.

struct MeasuredLaunch {
  LaunchWork work;  ///< `waves` included
  double ms = 0;
  double spread = 0;  ///< of the repetitions: (largest - smallest) / median
  std::optional<double> rest_ms = {};  ///< between the launches; none: long (kernel_time.hpp)
  std::string problem = {};  ///< runs of the same are left out together; empty: of no other
};

struct CostFit {
  PassCosts costs;                                 ///< `evidence.left_out` and `interval` are set
  std::vector<double> predicted_ms;                ///< one a run
  std::vector<std::optional<double>> left_out_ms;  ///< predicted by the other runs; none for a single one
  std::vector<double> covariance;                  ///< of the logarithms of the fitted numbers, row-major
};

/// Runs of one pass, at least one; `priors` name bounds_masked, masked, axis, cta_tiles and launch_us. All others may be
/// absent: without slowdown long runs are not slower.
/// Microseconds a run and cost.
/// @throws InvalidParameter when there is no run, a time is not positive, or a prior is missing.
[[nodiscard]] CostFit fit_costs(const std::vector<MeasuredLaunch>& runs,
                                const std::vector<CostPrior>& priors);

/// Runs that would sharpen a fit most: greedily, the candidate whose predicted time is the least certain,
/// then the next once that one is measured, each once. Indices into `candidates`, with the standard deviation
/// of the prediction (as a fraction) before it is measured.
struct SharpeningRun {
  std::size_t candidate = 0;
  double uncertainty = 0;
};
[[nodiscard]] std::vector<SharpeningRun> sharpening_runs(const CostFit& fit,
                                                         const std::vector<CostPrior>& priors,
                                                         const std::vector<LaunchWork>& candidates,
                                                         std::size_t most);

}  // namespace natten_sim

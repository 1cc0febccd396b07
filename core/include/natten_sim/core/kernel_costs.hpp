#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/cta_schedule.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// What an attention kernel's work costs on a device: a few times, measured once, that turn visited tiles
/// into milliseconds. Shipped in data/kernel-times.json; `natten-sim calibrate` makes more.

/// How the workgroups of a NATTEN kernel take Q tiles. Cooperative: a grid launch, whoever is free takes the
/// next tile. Pingpong: persistent, each SM takes every n-th tile.
enum class KernelSchedule { kCooperative, kPingpong };

template <>
struct NamesOf<KernelSchedule> {
  static constexpr const char* kConcept = "kernel-schedule";
  static constexpr Name<KernelSchedule> kTable[] = {{KernelSchedule::kCooperative, "cooperative"},
                                                    {KernelSchedule::kPingpong, "pingpong"}};
  /// As NATTEN calls them. `non`, non-persistent, is a grid launch too.
  static constexpr Name<KernelSchedule> kOther[] = {{KernelSchedule::kCooperative, "coop"},
                                                    {KernelSchedule::kCooperative, "non"},
                                                    {KernelSchedule::kPingpong, "pp"}};
};

[[nodiscard]] constexpr CtaSchedule launch_of(KernelSchedule schedule) noexcept {
  return schedule == KernelSchedule::kPingpong ? CtaSchedule::kPersistent : CtaSchedule::kGrid;
}

/// Relative errors of a fit. Those that count are of runs that were left out when the costs were fitted.
struct FitErrors {
  double mean = 0;
  double worst = 0;

  friend bool operator==(const FitErrors&, const FitErrors&) = default;
};

/// Where costs come from: measured runs of the kernel on the device, measured runs of it elsewhere, or neither.
enum class CostOrigin { kMeasured, kTransferred, kPhysical };

template <>
struct NamesOf<CostOrigin> {
  static constexpr const char* kConcept = "evidence";
  static constexpr Name<CostOrigin> kTable[] = {{CostOrigin::kMeasured, "measured"},
                                                {CostOrigin::kTransferred, "transferred"},
                                                {CostOrigin::kPhysical, "physical"}};
};

/// Launches by their predicted time: what tiles do not explain is a larger share of short ones.
enum class LaunchLength { kAny, kShort, kLong };
inline constexpr double kShortLaunchMs = 0.3;  ///< shorter ones are kShort
[[nodiscard]] constexpr LaunchLength length_of(double launch_ms) {
  return launch_ms < kShortLaunchMs ? LaunchLength::kShort : LaunchLength::kLong;
}

/// Measured launches of a cell that its costs were not fitted to, held against the times of those costs.
struct JudgedLaunches {
  std::int64_t points = 0;
  double error = 0;   ///< conformal quantile, at 90%, of |measured / predicted - 1|
  double inside = 0;  ///< share of them in the interval that answers state, 0..1
  LaunchLength length = LaunchLength::kAny;

  friend bool operator==(const JudgedLaunches&, const JudgedLaunches&) = default;
};

/// What the costs of one pass rest on.
struct CostEvidence {
  CostOrigin origin = CostOrigin::kMeasured;
  std::string transfer;     ///< of costs that are not measured: its kind (TransferKind)
  std::int64_t points = 0;  ///< left-out cells that the interval of such a transfer rests on
  std::int64_t runs = 0;              ///< measured runs that were fitted; 0: the costs are derived
  std::vector<std::string> kinds;     ///< of those runs: "unmasked", "bounds-masked", "masked 2-D"
  std::optional<FitErrors> left_out;  ///< each run predicted without itself; none for a single run
  std::optional<JudgedLaunches> judged;  ///< none: fewer than 9; the interval is at least their error
  std::vector<JudgedLaunches> judged_by_length;  ///< the short and the long ones, where they are 9 or more
  double fit_interval = 0;            ///< `interval` without the judged launches; 0: there are none
  double interval = 0;                ///< t (1 -+ it); of what is not measured t / (1 + it) to t (1 + it)
  std::string source;
  std::vector<std::string> fitted;  ///< keys of the runs that were fitted (io/kernel_runs.hpp)

  friend bool operator==(const CostEvidence&, const CostEvidence&) = default;
};

/// The judged launches of the length of one that takes `launch_ms` by its costs; null: too few.
[[nodiscard]] inline const JudgedLaunches* judged_of_length(const CostEvidence& evidence, double launch_ms) {
  for (const JudgedLaunches& judged : evidence.judged_by_length) {
    if (judged.length == length_of(launch_ms)) return &judged;
  }
  return nullptr;
}

/// The interval of a launch that takes `launch_ms` by its costs.
[[nodiscard]] inline double interval_of_launch(const CostEvidence& evidence, double launch_ms) {
  const JudgedLaunches* judged = judged_of_length(evidence, launch_ms);
  return judged == nullptr ? evidence.interval : std::max(evidence.fit_interval, judged->error);
}

/// Narrows `evidence` to such a launch.
inline void take_length(CostEvidence& evidence, double launch_ms) {
  evidence.interval = interval_of_launch(evidence, launch_ms);
  if (const JudgedLaunches* judged = judged_of_length(evidence, launch_ms)) evidence.judged = JudgedLaunches(*judged);
}

/// Times of one pass. A CTA takes `cta_us` and, for each pair of tiles that it multiplies, the time of that
/// pair's masking.
struct PassCosts {
  Walk pass = Walk::kForward;
  std::int64_t q_tile_tokens = 0, kv_tile_tokens = 0;  ///< of the pairs that the times are for
  std::int64_t ctas_per_sm = 1;  ///< at once, each as slow as with the others beside it
  /// What a CTA alone on its SM gets of the rate that all of them have together; 0: its usual share.
  double lone_share = 0;
  double unmasked_tile_us = 0;
  double bounds_masked_tile_us = 0;
  /// What a pair takes more on 1, 2 and 3 axes, masked or not, for the addresses of its tokens; `masked_tile_us` has it.
  std::array<double, 3> axes_tile_us = {};
  std::array<double, 3> masked_tile_us = {};  ///< in layouts of 1, 2 and 3 axes
  /// On two axes of which one is causal another program runs: CTAs of it at once on an SM (0: `ctas_per_sm`), and what
  /// their pairs and they take with that many there, over what they take on two axes with `ctas_per_sm`.
  std::int64_t causal_ctas_per_sm = 0;
  double causal_two_axes = 1;
  double cta_us = 0;                          ///< prologue and epilogue
  double launch_us = 0;                       ///< once
  double slowdown = 0;     ///< of runs much longer than `slowdown_ms`: power, as a fraction
  double slowdown_ms = 0;  ///< a run of this length has half of it
  double spared_slowdown = 0;  ///< share of `slowdown` that masked pairs are spared, 0 to 1: they draw less power
  double step_jitter = 0;  ///< how far CTAs of equal work fall out of step in one, as a share of it
  double lock_share = 0;   ///< of a pair's time, what a CTA adds to a gradient that others add to, one after the other
  double clipped_share = 0;  ///< of a pair's time, what is saved where its tiles lack all of their tokens
  double prepared_bytes_per_s = 0;  ///< rate of what is zeroed and summed before the kernel; 0: nothing is
  CostEvidence evidence;

  friend bool operator==(const PassCosts&, const PassCosts&) = default;
};

/// What rates of copies rest on: NATTEN's own kernel timed on the device, the same kernel timed on another
/// device, or PyTorch's operators, which NATTEN falls back to.
enum class CopyOrigin { kMeasured, kTransferred, kPytorch };

template <>
struct NamesOf<CopyOrigin> {
  static constexpr const char* kConcept = "copy-origin";
  static constexpr Name<CopyOrigin> kTable[] = {{CopyOrigin::kMeasured, "measured"},
                                                {CopyOrigin::kTransferred, "transferred"},
                                                {CopyOrigin::kPytorch, "pytorch"}};
};

/// Rates of copying tokens into tiles and back, bytes read and written together.
struct PermutationRate {
  std::int64_t axes = 0;
  std::string natten;  ///< the first release with this copy kernel (NattenRules::copies); empty: any
  double into_bytes_per_s = 0;
  double out_bytes_per_s = 0;
  /// Log-sum-exp, either way: its rows hold one number, which a kernel may take as long for as for a whole
  /// row of O. None: its bytes go as fast as all others.
  std::optional<double> lse_bytes_per_s;
  double interval = 0;  ///< half width of the interval of all copies of a call, as a fraction
  CopyOrigin origin = CopyOrigin::kMeasured;
  std::string source;

  friend bool operator==(const PermutationRate&, const PermutationRate&) = default;
};

/// A kernel on a device, for one head dim and types of one size.
struct KernelCosts {
  std::string kernel;  ///< `hopper-fna`; `hopper-fmha`, the dense kernel of the same family
  std::string device;
  std::int64_t head_dim = 0;
  std::vector<Dtype> dtypes;
  std::vector<PassCosts> passes;             ///< one or two
  std::vector<PermutationRate> permutation;  ///< one for a number of axes and release; none: not measured

  friend bool operator==(const KernelCosts&, const KernelCosts&) = default;

  [[nodiscard]] const PassCosts* costs_of(Walk pass) const noexcept {
    for (const PassCosts& costs : passes) {
      if (costs.pass == pass) return &costs;
    }
    return nullptr;
  }
};

/// What is assumed of a cost before anything is measured: about `value`, within a factor of exp(spread) in
/// two cases of three. Few runs cannot tell all costs apart; what they leave open stays near this.
struct CostPrior {
  std::string name;
  double value = 0;
  double spread = 0;
  std::string reason;
};

/// What is assumed otherwise of one kernel.
struct KernelPriors {
  std::string kernel;
  std::vector<std::int64_t> head_dims;  ///< that this holds for; empty: all
  std::vector<CostPrior> forward, backward;

  [[nodiscard]] bool hold_for(const std::string& name, std::int64_t head_dim) const {
    return kernel == name &&
           (head_dims.empty() || std::find(head_dims.begin(), head_dims.end(), head_dim) != head_dims.end());
  }
};

/// One list a pass. Their names: docs/time.md.
struct CostPriors {
  std::vector<CostPrior> forward, backward;
  std::vector<KernelPriors> kernels;  ///< these replace those of the same name

  [[nodiscard]] std::vector<CostPrior> of(Walk pass, const std::string& kernel, std::int64_t head_dim) const {
    std::vector<CostPrior> priors = pass == Walk::kForward ? forward : backward;
    for (const KernelPriors& own : kernels) {
      if (!own.hold_for(kernel, head_dim)) continue;
      for (const CostPrior& prior : pass == Walk::kForward ? own.forward : own.backward) {
        bool known = false;
        for (CostPrior& each : priors) {
          if (each.name != prior.name) continue;
          each = prior;
          known = true;
        }
        if (!known) priors.push_back(prior);
      }
    }
    return priors;
  }
};

}  // namespace natten_sim

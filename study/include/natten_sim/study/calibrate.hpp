#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/io/kernel_runs.hpp>
#include <natten_sim/models/tiles/kernel_fit.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {

/// What do a kernel's tiles cost, by these measured times, and what should be measured next?
struct CalibrateQuestion {
  std::vector<KernelRun> runs;  ///< all with a time; of any kernels, devices, passes and head dims
  std::string source;           ///< where they come from; stored with the costs
  std::size_t suggestions = 3;  ///< further runs, a pass
};

struct CalibratedRun {
  KernelRun run;
  std::string kind;  ///< "unmasked", "bounds-masked", "masked 2-D"
  double predicted_ms = 0;
  std::optional<double> left_out_ms;  ///< by the costs that the other runs give
};

/// A run that would tell most about the costs that are still uncertain.
struct SuggestedRun {
  KernelRun run;  ///< without a time
  double predicted_ms = 0;
  double uncertainty = 0;  ///< standard deviation of the prediction, as a fraction
};

struct CalibratedPass {
  std::string kernel, device;
  std::int64_t head_dim = 0;
  PassCosts costs;
  std::vector<CalibratedRun> runs;
  std::vector<SuggestedRun> suggestions;
};

struct CalibrateAnswer {
  std::vector<KernelCosts> entries;  ///< one a kernel, device and head dim, in order of appearance
  std::vector<CalibratedPass> passes;
};

/// Fits each pass of each kernel with the catalog's priors (models/tiles/kernel_fit.hpp). That long runs slow down more
/// or less than these say is expected of all kernels of one device and head dim.
/// @throws InvalidParameter, UnknownName when a run makes no sense or has no time.
[[nodiscard]] CalibrateAnswer calibrate(const CalibrateQuestion& question, const Context& context);

/// The question that predicts a run.
[[nodiscard]] TimeQuestion time_question(const KernelRun& run);

}  // namespace natten_sim::study

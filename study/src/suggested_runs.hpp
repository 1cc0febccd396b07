#pragma once

#include <natten_sim/study/calibrate.hpp>

namespace natten_sim::study {

/// Runs of presets' published windows, with the kernel, device, pass, head dim, type and tile sizes of `like`, that
/// would sharpen `fit` most; none that is in `measured`.
[[nodiscard]] std::vector<SuggestedRun> suggest(const KernelRun& like, const std::vector<KernelRun>& measured,
                                                const CostFit& fit, const std::vector<CostPrior>& priors,
                                                std::size_t most, const Context& context);

}  // namespace natten_sim::study

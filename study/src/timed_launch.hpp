#pragma once

#include <natten_sim/study/time.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {

/// Who calls FlexAttention themselves hand it a mask that covers the layout as tokens in a row, without boxes
/// to pad.
[[nodiscard]] bool flattens(const TimeQuestion& question, const TimedKernel& kernel);

/// A dense kernel on one causal axis whose window is the axis: each token sees itself and those before it.
[[nodiscard]] bool is_causal_sequence(const TimeQuestion& question);

/// The waves of `ctas` CTAs of equal length, of which `costs.ctas_per_sm` run on an SM at once: after full rounds,
/// those of the last are alone on their SMs where they are no more than these, and faster by `costs.lone_share`.
[[nodiscard]] double waves_of_equal(double ctas, std::int64_t sms, const PassCosts& costs);

}  // namespace natten_sim::study

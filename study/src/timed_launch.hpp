#pragma once

#include <natten_sim/models/tiles/cutlass_ctas.hpp>
#include <natten_sim/study/time.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {

/// Who calls FlexAttention themselves hand it a mask that covers the layout as tokens in a row, without boxes
/// to pad.
[[nodiscard]] bool flattens(const TimeQuestion& question, const TimedKernel& kernel);

/// A dense kernel on one causal axis whose window is the axis: each token sees itself and those before it.
[[nodiscard]] bool is_causal_sequence(const TimeQuestion& question);

/// The waves of `ctas` CTAs of equal length, of which `costs.ctas_per_sm` run on an SM at once: after full rounds,
/// those of the last share their SMs with fewer and are faster by `costs.lone_share` (shared_pace).
[[nodiscard]] double waves_of_equal(double ctas, std::int64_t sms, const PassCosts& costs);

[[nodiscard]] CutlassLaunch cutlass_launch(const TimeQuestion& question);

/// How the CTAs of cutlass-fna differ on a device of so many SMs, and what its tiles lack.
[[nodiscard]] CutlassWork cutlass_work_of(const TimeQuestion& question, std::int64_t sms);

/// The same of cutlass-fmha, on all tokens in a row.
[[nodiscard]] CutlassWork dense_cutlass_work(const TimeQuestion& question, const PassCosts& costs, bool causal, std::int64_t sms);

}  // namespace natten_sim::study

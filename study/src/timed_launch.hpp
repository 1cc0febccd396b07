#pragma once

#include <memory>
#include <optional>

#include <natten_sim/models/tiles/axis_count_memo.hpp>
#include <natten_sim/models/tiles/cutlass_ctas.hpp>
#include <natten_sim/study/many_times.hpp>
#include <natten_sim/study/time.hpp>

#include "launch_waves.hpp"
#include "timed_kernel.hpp"

namespace natten_sim::study {

/// Who calls FlexAttention themselves hand it a mask that covers the layout as tokens in a row, without boxes
/// to pad.
[[nodiscard]] bool flattens(const TimeQuestion& question, const TimedKernel& kernel);

/// A dense kernel on one causal axis whose window is the axis: each token sees itself and those before it.
[[nodiscard]] bool is_causal_sequence(const TimeQuestion& question);

/// Tokens, and additional keys.
[[nodiscard]] std::int64_t all_keys(const TimeQuestion& question);

/// The waves of `ctas` CTAs of equal length, of which `costs.ctas_per_sm` run on an SM at once: after full rounds,
/// those of the last share their SMs with fewer and are faster by `costs.lone_share` (shared_pace).
[[nodiscard]] double waves_of_equal(double ctas, std::int64_t sms, const PassCosts& costs);

[[nodiscard]] CutlassLaunch cutlass_launch(const TimeQuestion& question);

/// How the CTAs of cutlass-fna differ on a device of so many SMs, and what its tiles lack.
[[nodiscard]] CutlassWork cutlass_work_of(const TimeQuestion& question, std::int64_t sms);

/// The same of cutlass-fmha, on all tokens in a row.
[[nodiscard]] CutlassWork dense_cutlass_work(const TimeQuestion& question, const PassCosts& costs, bool causal, std::int64_t sms);

struct LaunchedKernel {
  const TimedKernel& kernel;
  const Device& device;
  const PassCosts& costs;
  const Catalog& catalog;
};

/// What is otherwise where the keys do not fill their last tile, in kernels of libraries: measured on an H200 and taken
/// for every Hopper GPU. As usual elsewhere.
struct RaggedTiles {
  double pace = 1;        ///< what a pair of tiles takes over its usual time
  double lone_share = 0;  ///< after full rounds, in place of the costs' own; 0: that
};
[[nodiscard]] RaggedTiles ragged_tiles(const TimeQuestion& question, const LaunchedKernel& launched, std::int64_t keys,
                                       bool causal);

/// What launches share whose axes are alike. Not for several threads.
struct AxisMemos {
  AxisCountMemo counts;
  AxisCtaMemo ctas;
};

/// How waves are found where many launches are asked about.
struct LaunchMemo {
  WaveCount waves = WaveCount::kSimulated;
  std::shared_ptr<AxisMemos> axes = std::make_shared<AxisMemos>();
  std::optional<WaveBounds> bounds = {};  ///< of the last launch, where its waves are bounded; set to none before it
};

/// work_of() by what is known; `memo` may be null.
[[nodiscard]] LaunchWork launch_of(const TimeQuestion& question, const LaunchedKernel& launched, LaunchMemo* memo);

}  // namespace natten_sim::study

#pragma once

#include <optional>

#include "device_numbers.hpp"
#include "setting.hpp"

namespace natten_sim::study {

/// What the timed model needs of the device and the kernel (null: none, which is as fast as the device
/// multiplies). Pace and jitter of `timed` replace the kernel's. @throws InvalidParameter naming what the
/// profile lacks.
[[nodiscard]] WavefrontDevice wavefront_device(const ReuseSetting& setting, const DeviceNumbers& numbers,
                                               const AttentionKernel* kernel, const AttentionSubject& subject,
                                               const TimedRun& timed);

/// Places the workers of `wavefront` on its SMs as the device launches the CTAs of `work`, if its profile
/// says how, from the GPC that `timed` names.
void place_ctas(const ReuseSetting& setting, const AttentionWork& work, const TimedRun& timed,
                WavefrontDevice& wavefront);

/// The stages that `timed` names, else as many as shared memory holds besides the Q tile.
[[nodiscard]] WavefrontOptions wavefront_options(const DeviceNumbers& numbers, const SplitQProblem& problem,
                                                 std::int64_t ctas_per_sm, const TimedRun& timed);

}  // namespace natten_sim::study

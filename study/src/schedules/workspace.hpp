#pragma once

#include <natten_sim/study/schedule.hpp>

namespace natten_sim::study {

/// Memory that a schedule takes beside inputs and gradients. Requires sizes in tokens.
/// @throws InvalidParameter for a head dim out of range, Overflow.
[[nodiscard]] std::int64_t workspace_bytes(const FinishedSchedule& finished, const ScheduleAnswer& answer,
                                           const ScheduleQuestion& question);

}  // namespace natten_sim::study

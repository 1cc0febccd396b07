#pragma once

#include <natten_sim/core/device.hpp>
#include <natten_sim/study/reuse.hpp>

namespace natten_sim::validate {

/// What `reuse` answers for a kernel on this device, whether or not the catalog has it: the one way from a
/// case to a prediction of its reads. The question's device is `device`. @throws as study::reuse.
[[nodiscard]] study::ReuseResult reuse_on(const Device& device, study::ReuseQuestion question);

}  // namespace natten_sim::validate

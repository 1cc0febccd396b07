#pragma once

#include <natten_sim/core/device.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::validate {

/// The shipped context, in which `device` stands for its name: its constants may be those of a user's file.
[[nodiscard]] study::Context context_on(const Device& device);

}  // namespace natten_sim::validate

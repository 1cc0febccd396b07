#pragma once

#include <string>

#include <natten_sim/core/checked.hpp>

namespace natten_sim {

/// All digits, `-170141183460469231731687303715884105728` at most long.
[[nodiscard]] std::string decimal(Int128 value);

}  // namespace natten_sim

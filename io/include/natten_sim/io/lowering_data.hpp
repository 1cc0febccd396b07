#pragma once

#include <vector>

#include <natten_sim/core/lowering.hpp>

namespace natten_sim {

/// Every row of data/lowering.json: operators (torch-scatter-add first), then source constructs.
[[nodiscard]] const std::vector<Lowering>& builtin_lowerings();

/// Every row of data/operators.json, oldest release of an operator first.
[[nodiscard]] const std::vector<OperatorRelease>& builtin_operators();

}  // namespace natten_sim

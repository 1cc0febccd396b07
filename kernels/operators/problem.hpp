#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/kernels/attention_backward/problem.hpp>
#include <natten_sim/kernels/attention_forward/problem.hpp>

#include "operators.h"

namespace natten_sim::operators {

namespace forward = kernels::attention_forward;
namespace backward = kernels::attention_backward;

/// Requires what the kernels require of a problem. @throws InvalidParameter.
[[nodiscard]] forward::Problem forward_problem(const natten_sim_attention& given);

/// Tokens of a neighborhood in the order of their tiles; empty of a sequence.
struct Places {
  std::vector<std::int64_t> q, kv;
};
[[nodiscard]] backward::Problem backward_problem(const natten_sim_attention& given, Places& places);

}  // namespace natten_sim::operators

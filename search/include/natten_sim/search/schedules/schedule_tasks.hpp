#pragma once

#include <cstdint>

namespace natten_sim {

/// @throws InvalidParameter naming the tasks that are too many for a schedule: 2^27 at most
void require_schedulable(std::int64_t heads, std::int64_t tasks_of_a_head);

}  // namespace natten_sim

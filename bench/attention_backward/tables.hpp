#pragma once

#include <optional>
#include <string>

#include <natten_sim/io/schedule_table.hpp>

#include "tensors.hpp"

namespace natten_sim::bench {

/// The named algorithm's schedule of the problem for this kernel, `workers` CTAs; empty where the algorithm
/// does not apply. `NAME+sections:N`: N heads are launched together; `shift+spread:N`: with the walk `spread`
/// besides. Grouped: chains over all heads of a group. Costs are those of docs/schedules.md: compute 7, reduce
/// 2, two writer stages. @throws InvalidParameter on any other text.
[[nodiscard]] std::optional<ScheduleTable> table_of(const backward::Problem& problem,
                                                    const backward::KernelShape& kernel,
                                                    const std::string& algorithm, std::int32_t workers,
                                                    std::int64_t effort = 8, bool grouped = false);
[[nodiscard]] ScheduleTable read_table(const std::string& path);

}  // namespace natten_sim::bench

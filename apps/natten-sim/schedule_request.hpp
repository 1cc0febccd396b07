#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/schedule_table.hpp>
#include <natten_sim/search/backward_schedules.hpp>

#include "command.hpp"
#include "count_json.hpp"

namespace natten_sim::cli {

/// What `schedule` was asked for, after defaults.
struct ScheduleQuestion {
  std::vector<BackwardAlgorithm> algorithms;  ///< several: the comparison table; none: a foreign table
  std::optional<ScheduleTable> table;
  ScheduleRequest request;
  Json input;  ///< the echo of every parameter
  bool workers_defaulted = false;
};

[[nodiscard]] std::vector<OptionSpec> schedule_request_options();
[[nodiscard]] ScheduleQuestion read_schedule_question(const Arguments& arguments);

}  // namespace natten_sim::cli

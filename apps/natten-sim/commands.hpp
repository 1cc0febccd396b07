#pragma once

#include "cli/command.hpp"

namespace natten_sim::cli {

[[nodiscard]] Command count_command();
[[nodiscard]] Command search_command();
[[nodiscard]] Command reuse_command();
[[nodiscard]] Command list_command();
[[nodiscard]] Command atomics_command();
[[nodiscard]] Command msda_command();
[[nodiscard]] Command reproduce_command();
[[nodiscard]] Command schedule_command();
[[nodiscard]] Command validate_command();
[[nodiscard]] Command calibrate_command();

}  // namespace natten_sim::cli

#pragma once

#include <optional>
#include <string>

#include <natten_sim/io/schedule_table.hpp>
#include <natten_sim/study/kernel_schedule.hpp>
#include <natten_sim/study/schedule_parts.hpp>

#include "keywords.hpp"

namespace natten_sim::python {

/// The keywords of schedule(): a problem, a table that was made elsewhere, or a known kernel.
struct AskedSchedule {
  study::ScheduleParts parts;
  std::optional<ScheduleTable> table;
  bool critical_path = false;
};

[[nodiscard]] Keywords<AskedSchedule> schedule_keywords();

/// The keywords with what the answer filled in.
[[nodiscard]] Json schedule_echo(const AskedSchedule& asked, const study::ScheduleAnswer& answer);
[[nodiscard]] Json kernel_schedule_echo(const AskedSchedule& asked,
                                        const study::KernelScheduleAnswer& answer);
/// JSON Schema of either.
[[nodiscard]] Json schedule_input_schema();

/// `context` with the costs of the file that `asked` names, which it then names by their name. None: it names
/// no file.
[[nodiscard]] std::optional<study::Context> with_costs(AskedSchedule& asked, const study::Context& context);

}  // namespace natten_sim::python

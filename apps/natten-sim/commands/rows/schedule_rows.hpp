#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/study/kernel_schedule.hpp>
#include <natten_sim/study/schedule_parts.hpp>

#include "cli/context.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "commands/rows/schedule_values.hpp"

namespace natten_sim::cli {

/// The flags of `schedule`.
struct ScheduleFlags {
  study::ScheduleParts parts;
  std::optional<std::string> table, recorded_run, emit_table, emit_header, emit_binary, perfetto,
      checkpoint;
  bool critical_path = false, ascii = false;
  CatalogFiles files;
  OutputFlags output;
};

[[nodiscard]] Options<ScheduleFlags> schedule_rows();

/// `input`: the flags with what `answer` filled in, by their rows.
[[nodiscard]] Json schedule_input(const ScheduleFlags& flags, const study::ScheduleAnswer& answer);

/// The same of a kernel's answer.
[[nodiscard]] Json kernel_schedule_input(const ScheduleFlags& flags, const study::KernelScheduleAnswer& answer);

/// JSON Schema of what both return.
[[nodiscard]] Json schedule_input_schema();

/// What the flags ask. @throws InvalidParameter
[[nodiscard]] study::ScheduleQuestion schedule_question(const ScheduleFlags& flags);

/// With --table. @throws InvalidParameter, MalformedData.
[[nodiscard]] study::TableQuestion table_question(const ScheduleFlags& flags);

}  // namespace natten_sim::cli

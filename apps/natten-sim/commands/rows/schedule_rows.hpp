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
  study::ScheduleParts parts;  ///< without the mask
  MaskOption mask;
  std::optional<std::string> table, recorded_run, emit_table, emit_header, emit_binary, svg, perfetto,
      checkpoint;
  bool critical_path = false, ascii = false;
  std::optional<std::string> kernel;
  CatalogFiles files;
  OutputFlags output;
};

/// A member of the parts, for rows.
template <typename Member>
[[nodiscard]] auto schedule_part(Member member) {
  return path(&ScheduleFlags::parts, member);
}

[[nodiscard]] Options<ScheduleFlags> schedule_rows();

/// --mask alone.
[[nodiscard]] Options<ScheduleFlags> mask_rows();

/// `input`: the flags with what `answer` filled in, by their rows.
[[nodiscard]] Json schedule_input(const ScheduleFlags& flags, const study::ScheduleAnswer& answer);

/// JSON Schema of what it and kernel_schedule_input return.
[[nodiscard]] Json schedule_input_schema();

/// What the flags ask. Reads the mask's file. @throws InvalidParameter, UnknownName, MalformedData.
[[nodiscard]] study::ScheduleQuestion schedule_question(const ScheduleFlags& flags);

/// With --table. @throws InvalidParameter, MalformedData.
[[nodiscard]] study::TableQuestion table_question(const ScheduleFlags& flags);

}  // namespace natten_sim::cli

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/study/schedule.hpp>

#include "cli/context.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {

/// `--mask`: a rule, or a file that is still to be read.
struct MaskOption {
  std::variant<ScheduleMask, MaskFile> value = ScheduleMask{};
};

/// `--handoff NEAR` or `NEAR,FAR`.
struct HandoffOption {
  double near = 0;
  std::optional<double> far;
};

/// `--overlap serial` or `async:K`.
struct OverlapOption {
  std::int32_t writer_stages = 0;
};

/// The flags of `schedule`.
struct ScheduleFlags {
  study::ScheduleQuestion question;  ///< without sizes, mask, workers, algorithms and detail
  std::optional<std::int64_t> q_tiles, kv_tiles, seqlen_q, seqlen_k, q_tile, kv_tile;
  std::optional<std::int32_t> workers;
  study::WorkersOfDevice sms;  ///< with `device`
  std::optional<std::string> device;
  MaskOption mask;
  std::string algorithm = "all";
  HandoffOption handoff;
  OverlapOption overlap;
  std::optional<std::string> table, emit_table, emit_header, emit_binary, svg, perfetto;
  bool critical_path = false, ascii = false;
  std::optional<std::string> kernel;
  CatalogFiles files;
  OutputFlags output;
};

[[nodiscard]] Options<ScheduleFlags> schedule_rows();

/// --mask alone.
[[nodiscard]] Options<ScheduleFlags> mask_rows();

/// `input`: the flags with what `answer` filled in, by their rows.
[[nodiscard]] Json schedule_input(const ScheduleFlags& flags, const study::ScheduleAnswer& answer);

/// What the flags ask. Reads the mask's file. @throws InvalidParameter, UnknownName, MalformedData.
[[nodiscard]] study::ScheduleQuestion schedule_question(const ScheduleFlags& flags);

/// With --table. @throws InvalidParameter, MalformedData.
[[nodiscard]] study::TableQuestion table_question(const ScheduleFlags& flags);

}  // namespace natten_sim::cli

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <natten_sim/study/schedule.hpp>

namespace natten_sim::study {

/// Latency between reductions of two workers into one dQ tile: within an L2 partition, and across.
struct Handoff {
  double near = ScheduleCosts{}.handoff;
  std::optional<double> far;  ///< none: the same
};

/// Who writes dQ: buffers of an asynchronous writer, 0 for none.
struct DqWriter {
  std::int32_t stages = ScheduleCosts{}.writer_stages;
};

/// A ScheduleQuestion or TableQuestion taken apart: sizes, workers and costs side by side, as whoever reads
/// them by name has them, from options, keywords or the keys of a file.
///
///     ScheduleParts parts;
///     parts.q_tiles = 8;
///     parts.algorithm = "spt";
///     ScheduleAnswer answer = schedule(question_of(parts), default_context());
struct ScheduleParts {
  ScheduleQuestion question;  ///< without sizes, workers, algorithms, handoff, writer and detail
  std::optional<std::int64_t> q_tiles, kv_tiles;
  std::optional<std::int64_t> seqlen_q, seqlen_k;  ///< instead of tiles
  std::optional<std::int64_t> q_tile, kv_tile;     ///< with `seqlen_q`
  std::optional<std::int32_t> workers;
  std::optional<std::string> device;                         ///< instead of workers
  std::int32_t ctas_per_sm = WorkersOfDevice{}.ctas_per_sm;  ///< with `device`
  std::string algorithm = kAllAlgorithms;
  Handoff handoff;
  DqWriter writer;

  [[nodiscard]] bool one_algorithm() const { return algorithm != kAllAlgorithms; }
  static constexpr const char* kAllAlgorithms = "all";
};

/// The question that the parts ask. It asks for the plan of one algorithm; and of all, where nobody gave
/// costs, for the map of where costs decide.
/// @throws InvalidParameter for sizes that are missing, contradict each other, or those of a mask that brings
/// its own, and for workers given twice. What `parts_of` echoes contradicts nothing.
[[nodiscard]] ScheduleQuestion question_of(const ScheduleParts& parts);

/// For callers that read a mask's file only when nothing speaks against it. @throws InvalidParameter for
/// tokens beside `mask`, which brings its own sizes. Numbers of tiles may stand there, if they are the
/// mask's.
void require_no_sizes(const ScheduleParts& parts, const std::string& mask);

/// The question of parts about a schedule that was made elsewhere: it says all but workers and costs.
[[nodiscard]] TableQuestion table_question_of(const ScheduleParts& parts, ScheduleTable table);

/// The parts with everything that the answer filled in. They do not depend on a device any more.
[[nodiscard]] ScheduleParts parts_of(ScheduleParts asked, const ScheduleAnswer& answer);

/// `serial`, or `async:K` with K buffers. @throws InvalidParameter naming `parameter`.
[[nodiscard]] DqWriter parse_dq_writer(const std::string& parameter, const std::string& text);
[[nodiscard]] std::string to_string(const DqWriter& writer);

/// `heads`, or `sections:K` with K heads a section. @throws InvalidParameter naming `parameter`.
[[nodiscard]] HeadSections parse_head_sections(const std::string& parameter, const std::string& text);
[[nodiscard]] std::string section_text(const HeadSections& launch);

}  // namespace natten_sim::study

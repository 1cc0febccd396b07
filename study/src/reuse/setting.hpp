#pragma once

#include <functional>
#include <optional>

#include <natten_sim/core/split_q.hpp>
#include <natten_sim/sim/reuse/attention_work.hpp>
#include <natten_sim/sim/reuse/wavefront.hpp>
#include <natten_sim/study/reuse.hpp>

namespace natten_sim::study {

/// Attention ready for models and simulators.
struct AttentionSetting {
  SplitQProblem problem;       ///< of a sweep: without its length
  AttentionSchedule schedule;  ///< without the order
  /// Of a timed run.
  std::optional<WavefrontDevice> wavefront;
  WavefrontOptions wavefront_options;
};

/// A question with its defaults filled in and its names looked up.
struct ReuseSetting {
  ReuseQuestion question;
  std::optional<Device> device;
  CapacitySource capacity_source = CapacitySource::kUnknown;
  std::optional<AttentionSetting> attention;

  [[nodiscard]] const std::optional<std::int64_t>& capacity() const { return question.capacity_bytes; }
  [[nodiscard]] std::int64_t sector() const { return *question.sector_bytes; }
};

/// @throws Error naming the member at fault.
[[nodiscard]] ReuseSetting resolve_reuse(const ReuseQuestion& question, const Catalog& catalog);

/// One length of a sweep. Windows are cut to it. @throws InvalidParameter.
[[nodiscard]] AttentionSetting at_length(const AttentionSetting& attention, std::int64_t seqlen);

/// @throws InvalidParameter unless lo <= value <= hi.
void require_in(const char* parameter, std::int64_t value, std::int64_t lo, std::int64_t hi);

}  // namespace natten_sim::study

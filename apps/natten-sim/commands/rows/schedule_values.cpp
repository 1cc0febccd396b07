#include "commands/rows/schedule_values.hpp"

#include <fmt/format.h>

#include <natten_sim/io/files.hpp>
#include <natten_sim/io/schedule_table.hpp>
#include <natten_sim/io/value_text.hpp>

namespace natten_sim::cli {

ScheduleMask parse_mask(const std::string& name, const std::string& text) {
  // As --causal says it, its other spelling.
  const bool causal = text == "true" || text == "1", full = text == "false" || text == "0";
  std::variant<ScheduleMask, MaskFile> mask = parse_schedule_mask(causal ? "causal" : full ? "full" : text);
  if (const auto* file = std::get_if<MaskFile>(&mask))
    return {parse_block_mask(read_text(name, file->path, kMaxMaskBytes), "mask file " + file->path), file->path};
  return std::get<ScheduleMask>(std::move(mask));
}

study::Handoff parse_handoff(const std::string& name, const std::string& text) {
  constexpr double kMost = study::kMaxScheduleCost;
  const std::size_t comma = text.find(',');
  study::Handoff handoff;
  handoff.near = parse_number(name, text.substr(0, comma), 0, kMost, "a number from 0 to 2^53, or NEAR,FAR");
  if (comma != std::string::npos)
    handoff.far = parse_number(name, text.substr(comma + 1), 0, kMost, study::kScheduleCostRange);
  return handoff;
}

std::string handoff_text(const study::Handoff& handoff) {
  return fmt::format("{}", handoff.near) + (handoff.far ? fmt::format(",{}", *handoff.far) : "");
}

}  // namespace natten_sim::cli

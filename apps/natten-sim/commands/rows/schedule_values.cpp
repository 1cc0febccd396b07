#include "commands/rows/schedule_values.hpp"

#include <fmt/format.h>

#include "cli/values.hpp"

namespace natten_sim::cli {

MaskOption parse_mask(const std::string&, const std::string& text) {
  // As --causal says it, its other spelling.
  if (text == "true" || text == "1") return {parse_schedule_mask("causal")};
  if (text == "false" || text == "0") return {parse_schedule_mask("full")};
  return {parse_schedule_mask(text)};
}

std::string mask_option_text(const MaskOption& mask) {
  if (const auto* file = std::get_if<MaskFile>(&mask.value)) return file->path;
  return mask_text(std::get<ScheduleMask>(mask.value));
}

study::Handoff parse_handoff(const std::string& name, const std::string& text) {
  constexpr double kMost = study::kMaxScheduleCost;
  const std::size_t comma = text.find(',');
  study::Handoff handoff;
  handoff.near = parse_number(name, text.substr(0, comma), 0, kMost, "a number from 0 to 2^53, or NEAR,FAR");
  if (comma != std::string::npos)
    handoff.far = parse_number(name, text.substr(comma + 1), 0, kMost, kCostRange);
  return handoff;
}

std::string handoff_text(const study::Handoff& handoff) {
  return fmt::format("{}", handoff.near) + (handoff.far ? fmt::format(",{}", *handoff.far) : "");
}

}  // namespace natten_sim::cli

// Masks in words: the text of an accepted one reads as itself.
#include <natten_sim/io/schedule_mask_text.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::mask_text {

void read(std::string_view input) {
  const auto mask = parse_schedule_mask(std::string(input));
  if (!std::holds_alternative<ScheduleMask>(mask)) return;
  const std::string text = natten_sim::mask_text(std::get<ScheduleMask>(mask));
  const auto again = parse_schedule_mask(text);
  require(std::holds_alternative<ScheduleMask>(again) && natten_sim::mask_text(std::get<ScheduleMask>(again)) == text,
          "a mask's text reads as itself");
}

const Target kTarget("mask_text", read);

}  // namespace natten_sim::fuzz::mask_text

// Masks in words: the text of an accepted one reads as itself.
#include <natten_sim/io/schedule_mask_text.hpp>

#include "fuzz/target.hpp"

void natten_sim::fuzz::read(std::string_view input) {
  const auto mask = parse_schedule_mask(std::string(input));
  if (!std::holds_alternative<ScheduleMask>(mask)) return;
  const std::string text = mask_text(std::get<ScheduleMask>(mask));
  const auto again = parse_schedule_mask(text);
  require(std::holds_alternative<ScheduleMask>(again) && mask_text(std::get<ScheduleMask>(again)) == text,
          "a mask's text reads as itself");
}

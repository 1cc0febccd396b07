#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/text_table.hpp>

#include "closings/closing_members.hpp"

namespace natten_sim::report {

std::string sentence(const Closing& closing) {
  std::string text = "In short: " + closing.limit;
  if (!closing.change.empty()) text += "; " + closing.change;
  if (!closing.gain_text.empty()) text += ": " + closing.gain_text;
  return text + "; " + closing.certainty + ".";
}

std::string closing_text(const std::optional<Closing>& closing) {
  return closing ? "\n" + wrapped_text(sentence(*closing)) : std::string();
}

Json closing_fields(const Closing& closing) { return json_of(closing); }

Json closing_schema() { return schema_of<Closing>(); }

void add_closing(const std::optional<Closing>& closing, Json& result) {
  if (closing) result["conclusion"] = closing_fields(*closing);
}

}  // namespace natten_sim::report

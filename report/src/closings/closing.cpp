#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/text_table.hpp>

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

Json closing_fields(const Closing& closing) {
  Json fields = {{"sentence", sentence(closing)},
          {"limit", closing.limit},
          {"change", closing.change.empty() ? Json() : Json(closing.change)},
          {"options", closing.options},
          {"gain", nullable(closing.gain)},
          {"certainty", closing.certainty}};
  if (!closing.interval.is_null()) fields["interval"] = closing.interval;
  return fields;
}

void add_closing(const std::optional<Closing>& closing, Json& result) {
  if (closing) result["conclusion"] = closing_fields(*closing);
}

}  // namespace natten_sim::report

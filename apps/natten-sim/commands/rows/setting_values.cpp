#include "commands/rows/setting_values.hpp"

#include <cctype>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/io/value_text.hpp>

namespace natten_sim::cli {

using study::StepRatio;

StepRatio OptionValue<StepRatio>::from_words(const std::string& name, const std::vector<std::string>& words,
                                             const About&) {
  const auto [part, whole] = parse_ratio(name, words.front(), 0, "K/N with 0 <= K <= N, N of 1 or more");
  return {part, whole};
}

bool OptionValue<StepRatio>::to_json(const StepRatio& value, Json& out) {
  out = std::to_string(value.part) + "/" + std::to_string(value.whole);
  return true;
}

namespace {

/// "wan2114b720p" for Wan2.1-14B-720p.
std::string letters_and_digits(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) result += static_cast<char>(std::tolower(letter));
  }
  return result;
}

}  // namespace

void note_preset(const study::Setting& asked, const Catalog& catalog, const Notes& notes) {
  if (!asked.preset) return;
  const std::string& taken = catalog.preset(*asked.preset).name;
  const std::string wanted = letters_and_digits(*asked.preset);
  if (letters_and_digits(taken) == wanted) return;
  std::vector<std::string> others;
  for (const Preset& preset : catalog.presets) {
    if (preset.name != taken && letters_and_digits(preset.name).starts_with(wanted))
      others.push_back(preset.name);
  }
  if (!others.empty())
    notes.note(
        fmt::format("preset {}: {} is also the beginning of {}", taken, *asked.preset, joined(others)));
}

}  // namespace natten_sim::cli

#pragma once

#include <natten_sim/study/setting.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"

namespace natten_sim::cli {

/// K/N.
template <>
struct OptionValue<study::StepRatio> {
  static constexpr int kMaxValues = 1;
  static study::StepRatio from_words(const std::string& name, const std::vector<std::string>& words,
                                     const About&);
  static bool to_json(const study::StepRatio& value, Json& out);
};

/// Says on stderr which preset a short name was taken for, where a model has several.
void note_preset(const study::Setting& asked, const Catalog& catalog, const Notes& notes);

}  // namespace natten_sim::cli

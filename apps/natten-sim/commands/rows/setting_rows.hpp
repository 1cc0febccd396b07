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

// The options of a study::Setting, which `count` and `search` share, in three groups: their own options stand
// between them.
[[nodiscard]] Options<study::Setting> layout_rows();  // the next two, with --device between them
[[nodiscard]] Options<study::Setting> preset_rows();
[[nodiscard]] Options<study::Setting> input_rows();
[[nodiscard]] Options<study::Setting> backend_rows(Echo echo);
[[nodiscard]] Options<study::Setting> workload_rows();

/// Says on stderr which preset a short name was taken for, where a model has several.
void note_preset(const study::Setting& asked, const Catalog& catalog, const Notes& notes);

}  // namespace natten_sim::cli

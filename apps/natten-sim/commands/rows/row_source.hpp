#pragma once

#include <string>
#include <vector>

#include <natten_sim/study/scatter.hpp>

#include "cli/options.hpp"

namespace natten_sim::cli {

/// `uniform`, `zipf:S`, `hot:K` or `file:PATH`: study::parse_row_source().
template <>
struct OptionValue<study::RowSource> {
  static constexpr int kMaxValues = 1;
  static study::RowSource from_words(const std::string& name, const std::vector<std::string>& words,
                                     const About&);
  static bool to_json(const study::RowSource& value, Json& out);
};

}  // namespace natten_sim::cli

#pragma once

#include <string>
#include <vector>

#include <natten_sim/study/scatter.hpp>

#include "cli/options.hpp"

namespace natten_sim::cli {

/// `uniform`, `zipf:S`, `hot:K` or `file:PATH`. A file is streamed, and nothing of it is kept in memory: .npy
/// by its header, .csv and .txt as text, anything else as raw 64-bit integers. It is opened when the question
/// is answered. @throws InvalidParameter when it cannot be opened, MalformedData.
template <>
struct OptionValue<study::RowSource> {
  static constexpr int kMaxValues = 1;
  static study::RowSource from_words(const std::string& name, const std::vector<std::string>& words,
                                     const About&);
  static study::RowSource from_json(const std::string& key, const Json& value, const About&);
  static bool to_json(const study::RowSource& value, Json& out);
};

}  // namespace natten_sim::cli

#pragma once

#include <string>
#include <vector>

#include <natten_sim/study/search.hpp>

#include "cli/options.hpp"

namespace natten_sim::cli {

/// Tile pairs with their backends: JSON only.
template <>
struct OptionValue<std::vector<TileChoice>> {
  static constexpr int kMaxValues = 1 << 16;
  static std::vector<TileChoice> from_words(const std::string& name, const std::vector<std::string>&,
                                            const About&);
  static constexpr bool kMayBeEmpty = true;
  static std::vector<TileChoice> from_json(const std::string& name, const Json& value, const About& about);
  static bool to_json(const std::vector<TileChoice>& choices, Json& out);
  static Json schema(const About&);
};

/// "h200,h100" as two names: names of devices have no commas.
[[nodiscard]] std::vector<std::string> split_at_commas(const std::vector<std::string>& words);

template <>
struct OptionValue<study::DeviceNames> {
  static constexpr bool kIsText = true;
  static constexpr int kMaxValues = 64;
  static constexpr bool kMayBeEmpty = true;
  static study::DeviceNames from_words(const std::string&, const std::vector<std::string>& words, const About&);
  static bool to_json(const study::DeviceNames& devices, Json& out);
  static Json schema(const About&);
};

}  // namespace natten_sim::cli

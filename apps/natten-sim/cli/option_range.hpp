#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/option_value.hpp"

namespace natten_sim::cli {

/// "1..1024", as an error says it; empty where `hi` is no bound of the program's own.
[[nodiscard]] std::string range_text(const IntegerBounds& range);

/// The bounds of the whole numbers that an option of type T takes.
template <typename T>
[[nodiscard]] std::string range_of(const About& about) {
  if constexpr (requires { OptionValue<T>::narrowed(about); }) {
    return range_text(OptionValue<T>::narrowed(about).range);
  } else if constexpr (std::same_as<T, Extents> || std::same_as<T, std::vector<std::int64_t>>) {
    return range_text(about.range);
  } else if constexpr (kIsOptional<T>) {
    return range_of<typename T::value_type>(about);
  } else {
    return {};
  }
}

}  // namespace natten_sim::cli

#pragma once

#include <cmath>
#include <functional>
#include <optional>

namespace natten_sim::report {

/// Four significant digits: more than measurements have.
[[nodiscard]] inline double four_digits(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

/// A member of a description, with four digits.
template <typename Get>
[[nodiscard]] auto four_digits_of(Get get) {
  return [get](const auto& value) { return four_digits(std::invoke(get, value)); };
}

/// As that; none unless the number is positive.
template <typename Get>
[[nodiscard]] auto if_positive(Get get) {
  return [get](const auto& value) {
    const double number = std::invoke(get, value);
    return number > 0 ? std::optional(four_digits(number)) : std::nullopt;
  };
}

}  // namespace natten_sim::report

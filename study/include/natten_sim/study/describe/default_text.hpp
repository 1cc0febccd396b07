#pragma once

#include <charconv>
#include <string>
#include <type_traits>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim::study {

// Help of an option or keyword whose member has no value where it is left out: [default] would print nothing,
// and the rule that fills it in has its constant elsewhere.

/// As the command line and Python spell it.
template <typename T>
[[nodiscard]] std::string default_word(const T& value) {
  if constexpr (Named<T>) {
    return to_string(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<T>) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
  } else {
    return value;
  }
}

/// "[1]"
template <typename T>
[[nodiscard]] std::string default_text(const T& value) {
  return "[" + default_word(value) + "]";
}

/// "[the kernel's, or 128]"
template <typename T>
[[nodiscard]] std::string default_text(const char* first, const T& otherwise) {
  return std::string("[") + first + ", or " + default_word(otherwise) + "]";
}

/// Of one axis of a mask: axis_default(&AxisMask::stride).
template <typename T>
[[nodiscard]] std::string axis_default(T AxisMask::*member) {
  return default_text(AxisMask{}.*member);
}

}  // namespace natten_sim::study

#pragma once

// Included before every file of the module: std::from_chars and std::to_chars of a double, which the standard
// library of Debian's Emscripten lacks. They agree with those of other libraries: the shortest digits that read
// back, and decimal numbers without sign or space before them.

#ifdef __EMSCRIPTEN__

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <version>

#ifndef __cpp_lib_to_chars

namespace std {

inline to_chars_result to_chars_of(char* first, char* last, const char* text, size_t length) {
  if (length > static_cast<size_t>(last - first)) return {last, errc::value_too_large};
  memcpy(first, text, length);
  return {first + length, errc()};
}

/// The least number of significant digits that read back as `value`.
inline int shortest_digits(double value) {
  char text[64];
  for (int digits = 1; digits < 17; ++digits) {
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    if (strtod(text, nullptr) == value) return digits;
  }
  return 17;
}

inline to_chars_result to_chars(char* first, char* last, double value, chars_format, int precision) {
  char text[512];
  return to_chars_of(first, last, text, static_cast<size_t>(snprintf(text, sizeof text, "%.*f", precision, value)));
}

inline to_chars_result to_chars(char* first, char* last, double value, chars_format) {
  char text[64];
  const int digits = shortest_digits(value);
  snprintf(text, sizeof text, "%.*e", digits - 1, value);
  const int exponent = atoi(strchr(text, 'e') + 1);
  const int places = digits - 1 - exponent;
  return to_chars(first, last, value, chars_format::fixed, places > 0 ? places : 0);
}

/// Fixed or scientific, whichever is shorter; fixed where both are as long.
inline to_chars_result to_chars(char* first, char* last, double value) {
  if (value == 0 || !isfinite(value)) {
    const char* text = value == 0 ? (signbit(value) ? "-0" : "0") : isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return to_chars_of(first, last, text, strlen(text));
  }
  char fixed[512];
  const size_t length = static_cast<size_t>(to_chars(fixed, fixed + sizeof fixed, value, chars_format::fixed).ptr - fixed);
  char scientific[64];
  const size_t other = static_cast<size_t>(
      snprintf(scientific, sizeof scientific, "%.*e", shortest_digits(value) - 1, value));
  return other < length ? to_chars_of(first, last, scientific, other) : to_chars_of(first, last, fixed, length);
}

inline from_chars_result from_chars(const char* first, const char* last, double& value,
                                    chars_format = chars_format::general) {
  const char* at = first;
  const auto digits = [&] {
    const char* begin = at;
    while (at != last && *at >= '0' && *at <= '9') ++at;
    return at != begin;
  };
  if (at != last && *at == '-') ++at;
  bool any = digits();
  if (at != last && *at == '.') {
    ++at;
    any = digits() || any;
  }
  if (!any) return {first, errc::invalid_argument};
  if (at != last && (*at == 'e' || *at == 'E')) {
    const char* before = at++;
    if (at != last && (*at == '-' || *at == '+')) ++at;
    if (!digits()) at = before;
  }
  const string text(first, at);
  const double read = strtod(text.c_str(), nullptr);
  if (isinf(read)) return {at, errc::result_out_of_range};
  value = read;
  return {at, errc()};
}

}  // namespace std

#endif
#endif

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/io/value_text.hpp>
#include <natten_sim/search/windows/search.hpp>

namespace natten_sim::cli {

/// Text to values that only options have (io/value_text.hpp has the others). Every function throws InvalidParameter naming `parameter`, the text and what is accepted.

[[nodiscard]] double parse_number(const std::string& parameter, const std::string& text, double lo, double hi,
                                  const char* accepted);

/// `LO:HI`, inclusive.
[[nodiscard]] IntRange parse_range(const std::string& parameter, const std::string& text);
/// A fraction 0..1, also in per cent: 0.9 or 90%.
[[nodiscard]] double parse_share(const std::string& parameter, const std::string& text, const char* accepted);
[[nodiscard]] SparsityRange parse_fraction_range(const std::string& parameter, const std::string& text);

/// `K/N`.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> parse_ratio(const std::string& parameter,
                                                                const std::string& text);

}  // namespace natten_sim::cli

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
[[nodiscard]] SparsityRange parse_fraction_range(const std::string& parameter, const std::string& text);

/// `K/N`.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> parse_ratio(const std::string& parameter,
                                                                const std::string& text);

}  // namespace natten_sim::cli

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

/// The same of a factor: 5 or 5x.
[[nodiscard]] double parse_factor(const std::string& parameter, const std::string& text, double lo, double hi,
                                  const char* accepted);

/// `LO:HI`, inclusive.
[[nodiscard]] IntRange parse_range(const std::string& parameter, const std::string& text);
/// A share as a fraction 0..1 or in per cent: 0.9, 90% or 90. 1 is the whole.
[[nodiscard]] double parse_share(const std::string& parameter, const std::string& text, const char* accepted);
/// LO:HI of shares, both of one kind: 0.9:0.92, 90%:92% or 90:92.
[[nodiscard]] SparsityRange parse_fraction_range(const std::string& parameter, const std::string& text);
[[nodiscard]] SparsityRange parse_share_range(const std::string& parameter, const std::string& lo,
                                              const std::string& hi);

/// `K/N` with lowest <= K <= N; `accepted` says that in words.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> parse_ratio(const std::string& parameter,
                                                                const std::string& text, std::int64_t lowest,
                                                                const char* accepted);

}  // namespace natten_sim::cli

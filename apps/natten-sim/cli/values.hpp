#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/io/index_file.hpp>
#include <natten_sim/search/windows/search.hpp>

namespace natten_sim::cli {

/// Text to values. Every function throws InvalidParameter naming `parameter`, the text and what is accepted.

[[nodiscard]] std::int64_t parse_integer(const std::string& parameter, const std::string& text,
                                         std::int64_t lo, std::int64_t hi);

/// `30 48 80`, `30x48x80` or `30,48,80`: 1 to 4 sizes in lo..hi.
[[nodiscard]] Extents parse_extents(const std::string& parameter, const std::vector<std::string>& texts,
                                    std::int64_t lo = 1, std::int64_t hi = kMaxAxisLength);

/// As parse_extents, from 0 on.
[[nodiscard]] Extents parse_indices(const std::string& parameter, const std::vector<std::string>& texts);

/// Axis numbers 0 .. rank-1, in the same spellings.
[[nodiscard]] std::vector<std::size_t> parse_axes(const std::string& parameter,
                                                  const std::vector<std::string>& texts, std::size_t rank);

/// true, false, 1 or 0, one an axis.
[[nodiscard]] PerAxis<bool> parse_booleans(const std::string& parameter,
                                           const std::vector<std::string>& texts);

[[nodiscard]] double parse_number(const std::string& parameter, const std::string& text, double lo, double hi,
                                  const char* accepted);

/// `LO:HI`, inclusive.
[[nodiscard]] IntRange parse_range(const std::string& parameter, const std::string& text);
[[nodiscard]] SparsityRange parse_fraction_range(const std::string& parameter, const std::string& text);

/// `K/N`.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> parse_ratio(const std::string& parameter,
                                                                const std::string& text);

}  // namespace natten_sim::cli

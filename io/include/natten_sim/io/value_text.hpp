#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/per_axis.hpp>

namespace natten_sim {

/// Text to numbers, one by one or one an axis. Every function throws InvalidParameter naming `parameter`, the
/// text and what is accepted.

[[nodiscard]] std::vector<std::string> split_text(const std::string& text, char separator);

[[nodiscard]] std::int64_t parse_integer(const std::string& parameter, const std::string& text,
                                         std::int64_t lo, std::int64_t hi);

/// The same of bytes: 52428800 or 50MiB. 50MB has two meanings, and the message says which.
[[nodiscard]] std::int64_t parse_bytes(const std::string& parameter, const std::string& text, std::int64_t lo,
                                       std::int64_t hi);
/// Bytes where the parameter's name ends so, else an integer.
[[nodiscard]] std::int64_t parse_whole_number(const std::string& parameter, const std::string& text,
                                              std::int64_t lo, std::int64_t hi);

[[nodiscard]] double parse_number(const std::string& parameter, const std::string& text, double lo, double hi,
                                  const std::string& accepted);
/// The same of a factor: 5 or 5x.
[[nodiscard]] double parse_factor(const std::string& parameter, const std::string& text, double lo, double hi,
                                  const std::string& accepted);

/// Whether numbers of an interval are shares: fractions, which may be given in per cent.
[[nodiscard]] bool is_share_interval(double lo, double hi);
/// A number above 1 is in per cent: no fraction is.
[[nodiscard]] double share_of_number(double value);
/// A share as a fraction 0..1 or in per cent: 0.9, 90% or 90. 1 is the whole.
[[nodiscard]] double parse_share(const std::string& parameter, const std::string& text,
                                 const std::string& accepted);

/// `K/N` with lowest <= K <= N; `accepted` says that in words.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> parse_ratio(const std::string& parameter,
                                                                const std::string& text, std::int64_t lowest,
                                                                const std::string& accepted);

/// true, false, 1 or 0.
[[nodiscard]] bool parse_boolean(const std::string& parameter, const std::string& text);

/// @throws UnknownName unless `text` is one of `choices` (separated by spaces), or `choices` is empty.
void require_choice(const std::string& parameter, const std::string& text, const std::string& choices);

/// `30 48 80`, `30x48x80` or `30,48,80`: one integer or more, each in lo..hi.
[[nodiscard]] std::vector<std::int64_t> parse_integers(const std::string& parameter,
                                                       const std::vector<std::string>& texts,
                                                       std::int64_t lo, std::int64_t hi);

/// @throws InvalidParameter unless `values` is 1 to 4.
void require_axes(const std::string& parameter, std::size_t values);

/// The same: 1 to 4 sizes.
[[nodiscard]] Extents parse_extents(const std::string& parameter, const std::vector<std::string>& texts,
                                    std::int64_t lo = 1, std::int64_t hi = kMaxAxisLength);

/// true, false, 1 or 0 in the same spellings, one an axis. An empty text is false, as in NATTEN's profiler.
[[nodiscard]] PerAxis<bool> parse_booleans(const std::string& parameter,
                                           const std::vector<std::string>& texts);

}  // namespace natten_sim

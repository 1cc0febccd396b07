#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/search/windows/search.hpp>

namespace natten_sim::study {

/// Words to the ranges that a search takes (io/value_text.hpp reads single values). Every function throws
/// InvalidParameter naming `parameter`, the text and what is accepted.

/// LO:HI, both included: one for all axes or one an axis; LO HI is one too.
[[nodiscard]] PerAxis<IntRange> parse_ranges(const std::string& parameter,
                                             const std::vector<std::string>& words);

/// LO:HI or LO HI of shares, both of one kind: 0.9:0.92, 90%:92% or 90:92. One share is HI, from none.
[[nodiscard]] SparsityRange parse_shares(const std::string& parameter, const std::vector<std::string>& words);

}  // namespace natten_sim::study

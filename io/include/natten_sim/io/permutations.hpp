#pragma once

#include <string>
#include <string_view>

#include <natten_sim/core/kv_order.hpp>

namespace natten_sim {

/// Reads one permutation of the KV tiles a line: tile numbers from 0, separated by blanks or commas; `#`
/// begins a comment, empty lines are skipped. Whether a line is a permutation depends on the problem and is
/// checked there. `where` names the text in errors. @throws MalformedData naming the line.
[[nodiscard]] KvPermutations parse_permutations(std::string_view text, const std::string& where);

}  // namespace natten_sim

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <natten_sim/report/document_diff.hpp>

namespace natten_sim::cli {

/// As report::part_diff of two parsed texts, in one pass over both without parsing them: some twenty times as
/// fast. Both have the same members in the same order, as answers to one kind of question have. None: they
/// have not, or a difference lies in an array of objects, whose places have names, or a text is not plain
/// JSON (an escape in a name, 64 levels); then a parser has to say what they are.
[[nodiscard]] std::optional<report::DocumentDiff> text_diff(const std::string& place, std::string_view a,
                                                            std::string_view b,
                                                            const report::DiffRules& rules);

}  // namespace natten_sim::cli

#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>

namespace natten_sim::report {

/// One CSV cell, quoted if necessary. Arrays become 30x48x80, null becomes empty. A text that a
/// spreadsheet would run as a formula (it begins with = + @) gets an apostrophe in front.
[[nodiscard]] std::string csv_cell(const Json& value);

/// A header line with the columns of `header` (an object whose values do not matter) and one line for each
/// row. Nested objects are flattened. A column that a row lacks is empty.
///
///     layout,visited_tiles,e2e_speedup_worst
///     30x48x80,70056,
[[nodiscard]] std::string csv_table(const Json& header, const std::vector<Json>& rows);

}  // namespace natten_sim::report

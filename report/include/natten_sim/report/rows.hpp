#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>

namespace natten_sim::report {

/// Rows of an answer as values: what `--csv` prints and `--table` typesets.
///
///     Rows rows{.header = row(first), .rows = {row(first), row(second)}, .columns = {"role", "total_ms"}};
///     csv_text(rows)                          role,window,total_ms,...
///     table_text(rows, TableFormat::kLatex)   a tabular of role and total (ms)
struct Rows {
  Json header;  ///< an object with every column; its values do not matter. Nested objects are flattened
  std::vector<Json> rows;
  /// Those of a table for a paper, unless others are asked for; empty: those in which rows differ.
  std::vector<std::string> columns = {};
};

/// As csv_table.
[[nodiscard]] std::string csv_text(const Rows& rows);

enum class TableFormat { kLatex, kMarkdown, kCsv };

/// A table of these columns, or of Rows::columns. The head has the unit, as the column's name ends in it. Numbers of a
/// column have the same number of decimals and stand at the right, so that their decimals are aligned: three digits
/// of the largest, and up to two more for the smallest. Nanoseconds and bytes are told in the largest unit of which the
/// smallest of them is a tenth or more. Fractions are per cent. LaTeX needs booktabs. A column
/// that no row fills is left out unless it is asked for.
///
///     | role | total (ms) |
///     | --- | ---: |
///     | fastest | 0.0121 |
/// @throws UnknownName for a column that the rows do not have
[[nodiscard]] std::string table_text(const Rows& rows, TableFormat format, const std::vector<std::string>& columns = {});

/// A column or a field as people read it: "time total (ms)" of `time_ms_total`, "sparsity (%)". O(length).
[[nodiscard]] std::string column_title(const std::string& name);

}  // namespace natten_sim::report

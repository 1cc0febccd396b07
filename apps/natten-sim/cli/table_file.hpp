#pragma once

#include <optional>
#include <string>

#include <natten_sim/report/rows.hpp>

#include "cli/output.hpp"

namespace natten_sim::cli {

/// --table FILE and --table-columns: the rows of --csv as a table for a paper. `flag`: where --table is something else.
[[nodiscard]] Options<OutputFlags> table_rows(const std::string& flag = "--table");

/// Whether a table is written under this name.
[[nodiscard]] bool is_typeset(const std::string& path);

/// By the end of its name. @throws InvalidParameter for another than .tex, .md and .csv
[[nodiscard]] report::TableFormat table_format(const std::string& path);

/// The rows, where --table asks for them.
template <typename Rows>
[[nodiscard]] std::optional<report::Rows> tabled(const OutputFlags& flags, const Rows& rows) {
  if (kJsonAlone || !flags.table) return std::nullopt;
  return rows();
}

void write_table(const OutputFlags& flags, const report::Rows& rows);

}  // namespace natten_sim::cli

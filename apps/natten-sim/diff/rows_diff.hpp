#pragma once

#include <functional>

#include <natten_sim/report/document_diff.hpp>

#include "diff/diff_file.hpp"

namespace natten_sim::cli {

/// Compares two files of JSON Lines, or two tables, row by row while it reads them. Rows are matched by what
/// names them: of lines the first of report::kNamingMembers that both files begin with; of tables the columns
/// before `error`, which are the options of a sweep, or else such a member; the second row of a name is
/// matched with the second one there. Rows without a name are matched by their place. Where both files have
/// one order, memory does not grow with them; else what waits for its match is kept. Differences stand in the
/// order of A, rows of B alone last.
/// @throws InvalidParameter, MalformedData
[[nodiscard]] report::DocumentDiff rows_diff(DiffFile& a, DiffFile& b, const report::DiffRules& rules,
                                             const std::function<void(double)>& progress);

}  // namespace natten_sim::cli

#pragma once

#include <string>
#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/validate/published/published_row.hpp>

namespace natten_sim::report {

/// Published figures beside ours. `fields` is the `result` of `reproduce`; `rows` one object a number, which
/// is also a line of CSV. Numbers are numbers there, and null where none is known.
[[nodiscard]] Json published_fields(const std::vector<validate::PublishedRow>& rows);
[[nodiscard]] Json published_schema();
[[nodiscard]] std::vector<Json> published_rows(const std::vector<validate::PublishedRow>& rows);

/// The cells of a table, headers first: figure, published, ours, deviation, verdict, note.
[[nodiscard]] std::vector<std::vector<std::string>> published_cells(
    const std::vector<validate::PublishedRow>& rows);

/// | figure | published | ours | deviation | verdict | note |
[[nodiscard]] std::string published_markdown(const std::vector<validate::PublishedRow>& rows);

/// "73 figures, 0 out of tolerance". Rows that agree by construction or are not judged are named beside, not
/// counted.
[[nodiscard]] std::string published_summary(const std::vector<validate::PublishedRow>& rows);
[[nodiscard]] std::size_t count_by_construction(const std::vector<validate::PublishedRow>& rows);

/// Rows that are compared and not by construction.
[[nodiscard]] std::size_t count_judged(const std::vector<validate::PublishedRow>& rows);

/// Rows that are new misses.
[[nodiscard]] std::size_t count_outside(const std::vector<validate::PublishedRow>& rows);

}  // namespace natten_sim::report

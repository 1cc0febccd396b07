#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/published_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

using validate::PublishedRow;
using validate::Verdict;

/// A known miss here is a deviation between two publications, not between model and machine.
const char* published_verdict(const PublishedRow& row) {
  if (row.verdict == Verdict::kWithin && row.by_construction) return "by construction";
  if (row.verdict == Verdict::kNoTolerance) return row.ours_value ? "not judged" : "not predicted";
  return row.verdict == Verdict::kKnownMiss ? "known deviation" : to_string(row.verdict);
}

std::string deviation_cell(const PublishedRow& row) {
  if (row.relative)
    return fmt::format("{:+.1f}%{}", 100 * row.deviation, row.fitted.value_or(false) ? " fitted" : "");
  if (row.verdict == Verdict::kNoTolerance) {
    const std::optional<double> relative = deviation_relative(row);
    return relative ? fmt::format("{:+.1f}%", 100 * *relative) : "-";
  }
  const bool numeric = row.tolerance > 0 || row.deviation != 0;
  return numeric ? fmt::format("{:+.4f}", row.deviation) : "0";
}

/// The same keys for every row: a line of a tidy table. What is unknown is null.
Json published_row(const PublishedRow& row) {
  const auto& measured = row.measured;
  const bool numbers = row.published_value && row.ours_value;
  const bool bounded = numbers && row.verdict != Verdict::kNoTolerance;
  return {{"work", row.work},
          {"figure", row.figure},
          {"item", row.item},
          {"series", row.place.series},
          {"axis", row.place.axis},
          {"axis_value", nullable(row.place.at)},
          {"unit", row.place.unit},
          {"published", nullable(row.published_value)},
          {"ours", nullable(row.ours_value)},
          {"measured", measured ? Json(measured->value) : Json()},
          {"measured_on", measured ? measured->device : ""},
          {"recording", measured ? measured->recording : ""},
          {"deviation_relative", nullable(deviation_relative(row))},
          {"deviation", numbers ? Json(*row.ours_value - *row.published_value) : Json()},
          {"tolerance", bounded ? Json(row.tolerance) : Json()},
          {"tolerance_of", !bounded       ? Json()
                           : row.relative ? Json("deviation_relative")
                                          : Json("deviation")},
          {"verdict", published_verdict(row)},
          {"fitted", nullable(row.fitted)},
          {"published_text", row.published},
          {"ours_text", row.ours},
          {"source", row.source},
          {"note", row.note}};
}

}  // namespace

std::size_t count_outside(const std::vector<PublishedRow>& rows) {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [](const PublishedRow& row) { return row.verdict == Verdict::kOutside; }));
}

std::size_t count_by_construction(const std::vector<PublishedRow>& rows) {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const PublishedRow& row) {
    return row.verdict == Verdict::kWithin && row.by_construction;
  }));
}

std::size_t count_judged(const std::vector<PublishedRow>& rows) {
  return static_cast<std::size_t>(
             std::count_if(rows.begin(), rows.end(),
                           [](const PublishedRow& row) { return row.verdict != Verdict::kNoTolerance; })) -
         count_by_construction(rows);
}

std::string published_summary(const std::vector<PublishedRow>& rows) {
  const std::size_t constant = count_by_construction(rows), judged = count_judged(rows);
  const auto known = std::count_if(
      rows.begin(), rows.end(), [](const PublishedRow& row) { return row.verdict == Verdict::kKnownMiss; });
  std::string text = fmt::format("{}, {} out of tolerance", counted(judged, "figure"), count_outside(rows));
  if (known > 0) text += ", " + counted(known, "known deviation");
  if (constant > 0)
    text += fmt::format("; {} more agree by construction: ours is a constant there", constant);
  if (judged + constant < rows.size())
    text += fmt::format("; {} more are shown and not judged", rows.size() - judged - constant);
  return text;
}

std::vector<Json> published_rows(const std::vector<PublishedRow>& rows) {
  std::vector<Json> result;
  for (const PublishedRow& row : rows) result.push_back(published_row(row));
  return result;
}

Json published_fields(const std::vector<PublishedRow>& rows) {
  return {{"rows", published_rows(rows)},
          {"out_of_tolerance", count_outside(rows)},
          {"by_construction", count_by_construction(rows)}};
}

std::vector<std::vector<std::string>> published_cells(const std::vector<PublishedRow>& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"figure", "published", "ours", "deviation", "verdict", "note"}};
  for (const PublishedRow& row : rows) {
    cells.push_back({row.figure + ": " + row.item, row.published, row.ours, deviation_cell(row),
                     published_verdict(row), row.note});
  }
  return cells;
}

std::string published_markdown(const std::vector<PublishedRow>& rows) {
  const std::vector<std::vector<std::string>> cells = published_cells(rows);
  std::string text;
  for (std::size_t line = 0; line < cells.size(); ++line) {
    for (const std::string& cell : cells[line]) text += "| " + cell + " ";
    text += "|\n";
    if (line == 0) text += "|---|---|---|---|---|---|\n";
  }
  return text;
}

}  // namespace natten_sim::report

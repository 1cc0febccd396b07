#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/published_report.hpp>

namespace natten_sim::report {
namespace {

using validate::PublishedRow;
using validate::Verdict;

/// A known miss here is a deviation between two publications, not between model and machine.
const char* published_verdict(const PublishedRow& row) {
  if (row.verdict == Verdict::kWithin && row.by_construction) return "by construction";
  return row.verdict == Verdict::kKnownMiss ? "known deviation" : to_string(row.verdict);
}

std::string deviation_cell(const PublishedRow& row) {
  if (row.relative)
    return fmt::format("{:+.1f}%{}", 100 * row.deviation, row.fitted.value_or(false) ? " fitted" : "");
  const bool numeric = row.tolerance > 0 || row.deviation != 0;
  return numeric ? fmt::format("{:+.4f}", row.deviation) : "0";
}

Json published_row(const PublishedRow& row) {
  Json json{{"figure", row.figure},
            {"item", row.item},
            {"published", row.published},
            {"ours", row.ours},
            {"deviation", row.deviation},
            {"tolerance", row.tolerance},
            {"verdict", published_verdict(row)},
            {"note", row.note}};
  if (row.fitted) json["fitted"] = *row.fitted;
  return json;
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

std::string published_summary(const std::vector<PublishedRow>& rows) {
  const std::size_t constant = count_by_construction(rows);
  const std::string counted =
      fmt::format("{} figures, {} out of tolerance", rows.size() - constant, count_outside(rows));
  if (constant == 0) return counted;
  return counted + fmt::format("; {} more agree by construction: ours is a constant there", constant);
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

#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/published_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/validate/compare/score.hpp>

namespace natten_sim::report {
namespace {

using validate::PublishedRow;
using validate::Verdict;

/// A known miss here is a deviation between two publications, not between model and machine.
const char* published_verdict(const PublishedRow& row) {
  if (row.verdict == Verdict::kWithin && row.by_construction) return "by construction";
  if (row.verdict == Verdict::kScored && !row.ours_value) return "not answered";
  if (row.verdict == Verdict::kNoTolerance) return row.ours_value ? "not judged" : "not predicted";
  return row.verdict == Verdict::kKnownMiss ? "known deviation" : to_string(row.verdict);
}

std::string deviation_cell(const PublishedRow& row) {
  if (row.verdict == Verdict::kScored && !row.ours_value) return "-";
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

/// The score of rows that are judged together; without an answer, a row is infinitely far off.
validate::Score score_of_rows(const std::vector<const PublishedRow*>& rows) {
  std::vector<validate::ScoredPoint> points;
  for (const PublishedRow* row : rows)
    points.push_back({row->ours_value.value_or(0), row->published_value.value_or(0), row->item});
  return validate::score_of(points, validate::ErrorKind::kFactor, rows.front()->tolerance);
}

/// "; 91 claims, 60 answered, 40% of all within a factor of 1.25; the 41 answered that nothing was fitted to:
/// 61%, 18% off in the median, skill 0.93"; empty without scored rows.
std::string scored_summary(const std::vector<PublishedRow>& rows) {
  std::vector<const PublishedRow*> all, fresh;
  std::size_t answered = 0;
  for (const PublishedRow& row : rows) {
    if (row.verdict != Verdict::kScored) continue;
    all.push_back(&row);
    answered += row.ours_value ? 1 : 0;
    if (row.ours_value && !row.fitted.value_or(false)) fresh.push_back(&row);
  }
  if (all.empty()) return "";
  std::string text = fmt::format("; {}, {} answered, {:.0f}% of all within a factor of {:g}",
                                 counted(all.size(), "claim"), answered, 100 * score_of_rows(all).within,
                                 1 + all.front()->tolerance);
  if (fresh.empty()) return text;
  const validate::Score score = score_of_rows(fresh);
  return text + fmt::format(
                    "; the {} answered that nothing was fitted to: {:.0f}%, {:.0f}% off in the median, skill {}",
                    fresh.size(), 100 * score.within, 100 * score.median, validate::skill_text(score));
}

bool is_judged(const PublishedRow& row) {
  return row.verdict != Verdict::kNoTolerance && row.verdict != Verdict::kScored;
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
             std::count_if(rows.begin(), rows.end(), is_judged)) -
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
  const auto shown = std::count_if(rows.begin(), rows.end(), [](const PublishedRow& row) {
    return row.verdict == Verdict::kNoTolerance;
  });
  if (shown > 0) text += fmt::format("; {} more are shown and not judged", shown);
  return text + scored_summary(rows);
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

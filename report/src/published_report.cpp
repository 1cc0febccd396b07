#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/described.hpp>
#include <natten_sim/report/published_report.hpp>
#include <natten_sim/report/text_table.hpp>
#include <natten_sim/validate/compare/score.hpp>

namespace natten_sim::report {
namespace {

using validate::PublishedRow;
using validate::Verdict;

struct PublishedTold {
  const std::vector<PublishedRow>* rows;
};

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

/// The same keys for every row: a line of a tidy table. What is unknown is null.
template <typename Members>
void describe(Members& m, Of<PublishedRow>) {
  using R = PublishedRow;
  using M = std::remove_cvref_t<decltype(*R::measured)>;
  using P = decltype(R::place);
  const auto place = [](auto member) { return path(&R::place, member); };
  const auto text_of_measured = [](auto member) {
    return [member](const R& row) { return row.measured ? (*row.measured).*member : std::string(); };
  };
  const auto has_numbers = [](const R& row) { return row.published_value && row.ours_value; };
  const auto is_bounded = [=](const R& row) {
    return has_numbers(row) && row.verdict != Verdict::kNoTolerance;
  };
  m.put("work", &R::work, "Publication");
  m.put("figure", &R::figure, "Figure or table");
  m.put("item", &R::item, "The number in it, in words");
  m.put("series", place(&P::series), "Series of the figure");
  m.put("axis", place(&P::axis), "Quantity of its axis");
  m.put("axis_value", place(&P::at), "Place on that axis; null: none");
  m.put("unit", place(&P::unit), "Unit of the numbers");
  m.put("published", &R::published_value, "The published number; null: it is a text");
  m.put("ours", &R::ours_value, "Our number; null: not answered, or a text");
  m.put("measured", path(&R::measured, &M::value), "What we measured; null: nothing");
  m.put("measured_on", text_of_measured(&M::device), "GPU of that measurement; empty: none");
  m.put("recording", text_of_measured(&M::recording), "Recording of that measurement; empty: none");
  m.put(
      "deviation_relative", [](const R& row) { return deviation_relative(row); },
      "Ours over published, less 1; null: not two numbers");
  m.put(
      "deviation",
      [=](const R& row) {
        return has_numbers(row) ? std::optional(*row.ours_value - *row.published_value) : std::nullopt;
      },
      "Ours less published; null: not two numbers");
  m.put(
      "tolerance",
      [=](const R& row) { return is_bounded(row) ? std::optional(row.tolerance) : std::nullopt; },
      "Largest deviation that agrees; null: not judged");
  m.put(
      "tolerance_of",
      [=](const R& row) {
        return is_bounded(row) ? std::optional<std::string>(row.relative ? "deviation_relative" : "deviation")
                               : std::nullopt;
      },
      "Which deviation that is; null: not judged");
  m.put("verdict", &published_verdict, "Whether the numbers agree");
  m.put("fitted", &R::fitted, "Whether a constant behind ours was fitted to it; null: not told");
  m.put("published_text", &R::published, "The published number as text");
  m.put("ours_text", &R::ours, "Our number as text");
  m.put("source", &R::source);
  m.put("note", &R::note, "What explains a deviation; empty: nothing");
}

template <typename Members>
void describe(Members& m, Of<PublishedTold>) {
  m.put("rows", path(&PublishedTold::rows), "A row per published number");
  m.put("out_of_tolerance", path(&PublishedTold::rows, &count_outside), "Rows that are new misses");
  m.put("by_construction", path(&PublishedTold::rows, &count_by_construction),
        "Rows that agree because ours is a constant there");
}

std::vector<Json> published_rows(const std::vector<PublishedRow>& rows) { return rows_of(rows); }

Json published_fields(const std::vector<PublishedRow>& rows) { return json_of(PublishedTold{&rows}); }

Json published_schema() { return schema_of<PublishedTold>(); }

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

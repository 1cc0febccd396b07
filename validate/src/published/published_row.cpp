#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/validate/published/published_row.hpp>

namespace natten_sim::validate {

PublishedRow number_row(std::string figure, std::string item, double published, double ours, double tolerance,
                        std::string note) {
  PublishedRow row{std::move(figure),
                   std::move(item),
                   fmt::format("{:g}", published),
                   tolerance > 0 ? fmt::format("{:.4f}", ours) : fmt::format("{:g}", ours),
                   ours - published,
                   tolerance,
                   Verdict::kWithin,
                   std::move(note)};
  row.published_value = published;
  row.ours_value = ours;
  // A NaN is never within a tolerance.
  if (!(std::abs(row.deviation) <= tolerance)) row.verdict = Verdict::kOutside;
  return row;
}

PublishedRow text_row(std::string figure, std::string item, std::string published, std::string ours,
                      bool within, std::string note) {
  return {std::move(figure),
          std::move(item),
          std::move(published),
          std::move(ours),
          0,
          0,
          within ? Verdict::kWithin : Verdict::kOutside,
          std::move(note)};
}

PublishedRow shown_row(std::string figure, std::string item, std::optional<double> published,
                       std::optional<double> ours, std::string note) {
  PublishedRow row;
  row.figure = std::move(figure);
  row.item = std::move(item);
  row.published = published ? fmt::format("{:g}", *published) : "-";
  row.ours = ours ? fmt::format("{:.4g}", *ours) : "-";
  row.published_value = published;
  row.ours_value = ours;
  row.verdict = Verdict::kNoTolerance;
  row.note = std::move(note);
  return row;
}

PublishedRow placed(PublishedRow row, RowPlace place) {
  row.place = std::move(place);
  return row;
}

std::optional<double> deviation_relative(const PublishedRow& row) {
  if (!row.published_value || !row.ours_value || *row.published_value == 0) return std::nullopt;
  return *row.ours_value / *row.published_value - 1;
}

void mark_known(PublishedRow& row, const std::string& reason) {
  if (row.verdict != Verdict::kOutside) return;
  row.verdict = Verdict::kKnownMiss;
  if (reason.empty()) return;
  row.note += (row.note.empty() ? "" : "; ") + reason;
}

}  // namespace natten_sim::validate

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/published_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

using validate::PublishedRow;
using validate::Verdict;

/// The size of the relative deviation of a row that is judged and shows something.
std::optional<double> judged_deviation(const PublishedRow& row) {
  if (row.verdict == Verdict::kNoTolerance || row.by_construction) return std::nullopt;
  const std::optional<double> relative = validate::deviation_relative(row);
  return relative ? std::optional(std::abs(*relative)) : std::nullopt;
}

std::string certainty_of_rows(const std::vector<PublishedRow>& rows) {
  std::vector<double> deviations;
  for (const PublishedRow& row : rows) {
    const std::optional<double> size = judged_deviation(row);
    if (size && !row.fitted.value_or(false)) deviations.push_back(*size);
  }
  if (deviations.empty()) return "all that is judged was fitted to, or is text";
  std::sort(deviations.begin(), deviations.end());
  return fmt::format("numbers that nothing was fitted to, {} of them, are off by {:.1f}% in the median",
                     deviations.size(), 100 * deviations[deviations.size() / 2]);
}

/// New misses come first, then known ones, then what agrees; among them the largest deviation.
bool more_to_look_at(const PublishedRow& a, const PublishedRow& b) {
  const auto rank = [](const PublishedRow& row) {
    return row.verdict == Verdict::kOutside ? 2 : row.verdict == Verdict::kKnownMiss ? 1 : 0;
  };
  if (rank(a) != rank(b)) return rank(a) > rank(b);
  return judged_deviation(a).value_or(0) > judged_deviation(b).value_or(0);
}

}  // namespace

Closing closing_of(const std::vector<PublishedRow>& rows) {
  Closing closing;
  const auto known = std::count_if(
      rows.begin(), rows.end(), [](const PublishedRow& row) { return row.verdict == Verdict::kKnownMiss; });
  const std::size_t judged = count_judged(rows), outside = count_outside(rows);
  const auto scored = std::count_if(
      rows.begin(), rows.end(), [](const PublishedRow& row) { return row.verdict == Verdict::kScored; });
  if (judged == 0 && scored > 0) {
    closing.limit = counted(static_cast<std::size_t>(scored), "claim") + " of others are scored together";
    closing.certainty = certainty_of_rows(rows);
    return closing;
  }
  if (judged == 0) {
    closing.limit = fmt::format("none of the {} numbers is judged", rows.size());
    closing.certainty = "nothing here predicts them, or what does is a constant";
    return closing;
  }
  const std::size_t within = judged - outside - static_cast<std::size_t>(known);
  closing.limit = fmt::format("of {} {} {} within {} tolerance", counted(judged, "judged figure"), within,
                              within == 1 ? "is" : "are", judged == 1 ? "its" : "their");
  if (known > 0) closing.limit += fmt::format(", {} deviate{} for a known reason", known, known == 1 ? "s" : "");
  if (outside > 0) closing.limit += fmt::format(", {} for none that is known", outside);
  closing.certainty = certainty_of_rows(rows);
  const auto worst = std::min_element(rows.begin(), rows.end(), more_to_look_at);
  if (worst == rows.end() || !judged_deviation(*worst)) return closing;
  closing.change = fmt::format("first look at {}, {}", worst->figure, worst->item);
  closing.options = {{"work", worst->work}, {"figure", worst->figure}};
  closing.gain_text = fmt::format("{} published, {} ours", worst->published, worst->ours);
  return closing;
}

}  // namespace natten_sim::report

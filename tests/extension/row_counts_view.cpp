// A view of recordings that the program does not have: how many points each recording holds. This file is all
// there is to it.
#include <string>

#include <natten_sim/report/validation_views.hpp>

namespace {

using namespace natten_sim;

std::optional<report::ValidationView> count_rows(const report::RecordedData& data) {
  report::ValidationView view;
  view.empty_row = {{"suite", ""}, {"points", 0}};
  for (const validate::Recording& recording : data.recordings) {
    if (!data.shows(recording)) continue;
    view.rows.push_back({{"suite", recording.head.suite}, {"points", recording.rows.size()}});
    view.text += recording.head.suite + " has " + std::to_string(recording.rows.size()) + " points\n";
  }
  return view.rows.empty() ? std::nullopt : std::optional(view);
}

[[maybe_unused]] const report::ViewKind& kRowCounts = report::add_view_kind(
    {.name = "row-counts", .position = 35, .needs = "any recording", .make = count_rows});

}  // namespace

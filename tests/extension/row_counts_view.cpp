// A view of recordings that the program does not have: how many points each recording holds. This file is all
// there is to it.
#include <string>

#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>

namespace {

using namespace natten_sim;

struct CountedRecording {
  std::string suite;
  std::size_t points = 0;
};

template <typename Members>
void describe(Members& m, report::Of<CountedRecording>) {
  m.put("suite", &CountedRecording::suite);
  m.put("points", &CountedRecording::points, "Recorded launches");
}

std::optional<report::ValidationView> count_rows(const report::RecordedData& data) {
  report::ValidationView view;
  for (const validate::Recording& recording : data.recordings) {
    if (!data.shows(recording)) continue;
    view.rows.push_back(report::json_of(CountedRecording{recording.head.suite, recording.rows.size()}));
    view.text += recording.head.suite + " has " + std::to_string(recording.rows.size()) + " points\n";
  }
  return view.rows.empty() ? std::nullopt : std::optional(view);
}

[[maybe_unused]] const report::ViewKind& kRowCounts = report::add_view_kind(
    {.name = "row-counts",
     .position = 35,
     .needs = "any recording",
     .row_schema = report::schema_of<CountedRecording>,
     .make = count_rows});

}  // namespace

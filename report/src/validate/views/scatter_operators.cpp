#include <algorithm>

#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/cases/scatter_operator.hpp>

#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using validate::ScatterOperatorCase;

struct OperatorTimes {
  std::vector<std::string> operators;               ///< columns, as they come
  std::vector<std::pair<std::string, Json>> loads;  ///< time by operator
};

OperatorTimes times_of(const validate::Recording& recording) {
  OperatorTimes times;
  for (const validate::RecordedRow& row : recording.rows) {
    const auto* const point = row.point.as<ScatterOperatorCase>();
    if (point == nullptr || !row.timing) continue;
    if (std::find(times.operators.begin(), times.operators.end(), point->operation) == times.operators.end())
      times.operators.push_back(point->operation);
    const std::string load = point->load();
    auto at = std::find_if(times.loads.begin(), times.loads.end(),
                           [&](const auto& each) { return each.first == load; });
    if (at == times.loads.end()) at = times.loads.insert(at, {load, Json::object()});
    at->second[point->operation] = row.timing->milliseconds.median;
  }
  return times;
}

Json operator_row(const std::string& device, const std::string& load, const std::string& operation,
                  const Json& milliseconds) {
  return {{"device", device}, {"load", load}, {"operator", operation}, {"time_ms", milliseconds}};
}

/// The same loads by PyTorch's operators and by this project's paths: time_ms. Three lines of it:
///
///     ms                   scatter_add  index_add  embedding  red-16
///     bf16 x256 hot:64           3.071      0.123      0.181   0.034
///     bf16 x256 zipf:1          40.939      0.123      0.242   0.059
std::optional<ValidationView> make_scatter_operators(const RecordedData& data) {
  ValidationView view;
  view.empty_row = operator_row("", "", "", nullptr);
  for (const auto& recording : data.recordings) {
    if (recording.head.suite != "scatter-beside") continue;
    const OperatorTimes times = times_of(recording);
    Cells table = {{"ms"}};
    table.front().insert(table.front().end(), times.operators.begin(), times.operators.end());
    for (const auto& [load, by_operator] : times.loads) {
      table.push_back({load});
      for (const std::string& operation : times.operators) {
        const bool timed = by_operator.contains(operation);
        table.back().push_back(timed ? fmt::format("{:.3f}", by_operator[operation].get<double>()) : "-");
        if (timed)
          view.rows.push_back(
              operator_row(recording.head.device.name, load, operation, by_operator[operation]));
      }
    }
    append_table(table, view.text, "Scatters beside each other, " + recording.head.device.name);
  }
  if (view.rows.empty()) return std::nullopt;
  return view;
}

}  // namespace

ViewKind scatter_operators_view();
ViewKind scatter_operators_view() {
  return {.name = "scatter-operators",
          .position = 87,
          .drawn = false,
          .needs = "recordings of the suite scatter-beside",
          .make = make_scatter_operators};
}

}  // namespace natten_sim::report::views

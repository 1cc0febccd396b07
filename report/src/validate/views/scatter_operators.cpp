#include <algorithm>
#include <map>

#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/cases/scatter_operator.hpp>

#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using validate::ScatterOperatorCase;

struct OperatorRow {
  std::string device, load, operation;
  double ms = 0;
};

template <typename Members>
void describe(Members& m, Of<OperatorRow>) {
  m.put("device", &OperatorRow::device, kDeviceMeaning);
  m.put("load", &OperatorRow::load, "Type, width and distribution of the rows");
  m.put("operator", &OperatorRow::operation, "Operator of PyTorch, or path of this project's kernel");
  m.put("time_ms", &OperatorRow::ms, "Measured time, the median");
}

struct OperatorTimes {
  std::vector<std::string> operators;                                          ///< columns, as they come
  std::vector<std::pair<std::string, std::map<std::string, double>>> loads;  ///< time by operator
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
    if (at == times.loads.end()) at = times.loads.insert(at, {load, {}});
    at->second[point->operation] = row.timing->milliseconds.median;
  }
  return times;
}

/// The same loads by PyTorch's operators and by this project's paths: time_ms. Three lines of it:
///
///     ms                   scatter_add  index_add  embedding  red-16
///     bf16 x256 hot:64           3.071      0.123      0.181   0.034
///     bf16 x256 zipf:1          40.939      0.123      0.242   0.059
std::optional<ValidationView> make_scatter_operators(const RecordedData& data) {
  ValidationView view;
  for (const auto& recording : data.recordings) {
    if (recording.head.suite != "scatter-beside") continue;
    const OperatorTimes times = times_of(recording);
    Cells table = {{"ms"}};
    table.front().insert(table.front().end(), times.operators.begin(), times.operators.end());
    for (const auto& [load, by_operator] : times.loads) {
      table.push_back({load});
      for (const std::string& operation : times.operators) {
        const auto timed = by_operator.find(operation);
        table.back().push_back(timed != by_operator.end() ? fmt::format("{:.3f}", timed->second) : "-");
        if (timed != by_operator.end())
          view.rows.push_back(json_of(OperatorRow{device_name(recording), load, operation, timed->second}));
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
          .row_schema = schema_of<OperatorRow>,
          .make = make_scatter_operators};
}

}  // namespace natten_sim::report::views

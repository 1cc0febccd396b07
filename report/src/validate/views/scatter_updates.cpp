#include <string>

#include "validate/scatter_curves.hpp"

namespace natten_sim::report::views {
namespace {

using validate::ScatterCase;

std::optional<double> updates_of(const ScatterCase& point) { return static_cast<double>(point.updates); }

std::string all_but_updates(const ScatterCase& point) {
  return std::string(to_string(point.dtype)) + ", " + std::to_string(point.width) + " elements into " +
         std::to_string(point.rows) + ", " + to_string(point.distribution);
}

const ScatterAxis kUpdatesAxis{"updates", "updates", draw::Scale::kLog, updates_of, all_but_updates};

}  // namespace

ViewKind scatter_updates_view();
ViewKind scatter_updates_view() {
  return {.name = "scatter-updates",
          .position = 85,
          .drawn = true,
          .needs = kNeedsScatter,
          .row_schema = [] { return scatter_schema(kUpdatesAxis); },
          .make = [](const RecordedData& data) { return scatter_curves(data, kUpdatesAxis); }};
}

}  // namespace natten_sim::report::views

#include <string>

#include "validate/scatter_curves.hpp"

namespace natten_sim::report::views {
namespace {

using validate::ScatterCase;

std::optional<double> width_of(const ScatterCase& point) { return static_cast<double>(point.width); }

std::string all_but_width(const ScatterCase& point) {
  return std::string(to_string(point.dtype)) + ", " + std::to_string(point.updates) + " into " +
         std::to_string(point.rows) + ", " + to_string(point.distribution);
}

const ScatterAxis kWidthAxis{"elements a row", "width", draw::Scale::kLog, width_of, all_but_width};

}  // namespace

ViewKind scatter_width_view();
ViewKind scatter_width_view() {
  return {.name = "scatter-width",
          .position = 84,
          .drawn = true,
          .needs = kNeedsScatter,
          .row_schema = [] { return scatter_schema(kWidthAxis); },
          .make = [](const RecordedData& data) { return scatter_curves(data, kWidthAxis); }};
}

}  // namespace natten_sim::report::views

#include <string>

#include "validate/scatter_curves.hpp"

namespace natten_sim::report::views {
namespace {

using validate::ScatterCase;

std::optional<double> exponent_of(const ScatterCase& point) {
  const auto* const zipf = std::get_if<ZipfRows>(&point.distribution);
  return zipf == nullptr ? std::nullopt : std::optional(zipf->exponent);
}

std::string all_but_exponent(const ScatterCase& point) {
  return std::string(to_string(point.dtype)) + ", " + std::to_string(point.updates) + " x " +
         std::to_string(point.width) + " into " + std::to_string(point.rows);
}

const ScatterAxis kExponentAxis{"Zipf exponent", "exponent", draw::Scale::kLinear, exponent_of, all_but_exponent};

}  // namespace

ViewKind scatter_exponent_view();
ViewKind scatter_exponent_view() {
  return {.name = "scatter-exponent",
          .position = 86,
          .drawn = true,
          .needs = kNeedsScatter,
          .row_schema = [] { return scatter_schema(kExponentAxis); },
          .make = [](const RecordedData& data) { return scatter_curves(data, kExponentAxis); }};
}

}  // namespace natten_sim::report::views

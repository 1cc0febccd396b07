#include "published/measured_beside.hpp"

#include <algorithm>
#include <utility>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>

namespace natten_sim::validate {
namespace {

RowPlace place_of(const Json& number) {
  RowPlace place{.unit = number.value("unit", std::string()),
                 .series = number.value("series", std::string()),
                 .axis = number.value("axis", std::string())};
  if (number.contains("at")) place.at = number["at"].get<double>();
  return place;
}

}  // namespace

void add_measured_beside(const std::string& work, std::vector<PublishedRow>& rows) {
  const Json beside = Json::parse(measured_beside_figures());
  for (const Json& number : beside["numbers"]) {
    if (number["work"] != work) continue;
    const std::string figure = number["figure"], item = number["item"];
    MeasuredBeside measured{.value = number["value"].get<double>(),
                            .device = number["device"].get<std::string>(),
                            .recording = number["recording"].get<std::string>()};
    const auto same = [&](const PublishedRow& row) { return row.figure == figure && row.item == item; };
    auto at = std::find_if(rows.begin(), rows.end(), same);
    if (at == rows.end()) {
      const auto of_figure = [&](const PublishedRow& row) { return row.figure == figure; };
      const auto last = std::find_if(rows.rbegin(), rows.rend(), of_figure);
      at = rows.insert(last.base(), placed(shown_row(figure, item, {}, {}), place_of(number)));
    }
    at->measured = std::move(measured);
  }
}

}  // namespace natten_sim::validate

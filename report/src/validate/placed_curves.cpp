#include "validate/placed_curves.hpp"

#include "validate/view_tables.hpp"

namespace natten_sim::report {

using namespace natten_sim::validate;

std::vector<views::PlacedCurve> views::placed_curves(const RecordedData& data) {
  std::vector<PlacedCurve> placed;
  for (const Recording& recording : data.recordings) {
    if (!data.shows(recording) || recording.head.suite == "stream" || recording.head.suite == "tiles")
      continue;
    const Device device = device_of(recording, data.devices);
    for (const OrderCurve& curve : order_curves(recording, device)) {
      placed.push_back({recording.head.device.name, curve, parting_of(curve, device)});
    }
  }
  return placed;
}

std::vector<OrderCurve> views::curves_alone(const std::vector<PlacedCurve>& placed) {
  std::vector<OrderCurve> curves;
  for (const PlacedCurve& each : placed) curves.push_back(each.curve);
  return curves;
}

}  // namespace natten_sim::report

#include "validate/recorded_map.hpp"

namespace natten_sim::report {

using namespace natten_sim::validate;

std::optional<RegimeMap> views::recorded_map(const RecordedData& data) {
  std::optional<RegimeMap> map;
  for (const Recording& ours : data.recordings) {
    if (ours.head.suite != "tiles") continue;
    for (const SdpaRecording& each : data.sdpa) {
      if (each.device.name != ours.head.device.name || each.driver != ours.head.driver) continue;
      if (map) return std::nullopt;  // ratios of several devices are no one map
      map = regime_map(ours, each);
    }
  }
  return map && !map->cells.empty() ? map : std::nullopt;
}

}  // namespace natten_sim::report

#include <natten_sim/report/validation_views.hpp>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>

#include "validate/view_tables.hpp"

namespace natten_sim::report {

Device views::device_of(const validate::Recording& recording, const std::vector<Device>& devices) {
  for (const Device& device : devices) {
    if (device.name != recording.head.device.profile) continue;
    if (!device.sms || device.sms->value == recording.head.device.sms) return device;
  }
  return {};
}

const std::vector<ViewKind>& view_kinds() {
  constexpr const char* kTilesAndSdpa =
      "a recording of the suite tiles and one of scripts/time_pytorch_sdpa.py, of one device and driver";
  constexpr const char* kBothOrders =
      "recordings with cyclic and sawtooth at three lengths or more (suites sawtooth, reuse)";
  constexpr const char* kFewSms = "a recording of the suite active-sms";
  static const std::vector<ViewKind> kinds = {{"heat-map", true, kTilesAndSdpa, views::heat_map},
                                              {"sensitivity", false, kTilesAndSdpa, views::sensitivity},
                                              {"decisions", false, kTilesAndSdpa, views::decision_table},
                                              {"misses", true, kBothOrders, views::misses},
                                              {"throughput", true, kBothOrders, views::throughput},
                                              {"parting", false, kBothOrders, views::partings},
                                              {"active-sms", true, kFewSms, views::active_sms},
                                              {"capacity", false, kFewSms, views::capacities}};
  return kinds;
}

const ViewKind& view_kind(const std::string& name) {
  std::vector<std::string> names;
  for (const ViewKind& kind : view_kinds()) {
    if (name == kind.name) return kind;
    names.emplace_back(kind.name);
  }
  throw UnknownName("view", name, closest_name(name, names), joined(names));
}

}  // namespace natten_sim::report

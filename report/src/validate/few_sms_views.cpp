#include "validate/view_tables.hpp"

#include <map>
#include <utility>

#include <natten_sim/validate/studies/order_study.hpp>

#include "validate/validation_pictures.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

Json active_row(const std::string& device, const ActiveSmsPoint& point) {
  return {{"device", device},
          {"sms", point.sms},
          {"dram_hit_rate", point.dram_hit_rate},
          {"l2_hit_rate", nullable(point.l2_hit_rate)},
          {"one_minus_1_over_sms", point.lockstep},
          {"predicted_dram_hit_rate", nullable(point.predicted)},
          {"misses", point.misses}};
}

Json capacity_row(const std::string& device, const StreamCapacity& each) {
  return {
      {"device", device}, {"sms", each.sms}, {"buffer_mib", each.buffer_mib}, {"kept_mib", each.kept_mib}};
}

}  // namespace

std::optional<ValidationView> active_sms(const RecordedData& data) {
  ValidationView view;
  view.empty_row = active_row({}, {});
  std::vector<draw::Picture> pictures;
  Cells table = {
      {"SMs", "L2 hit rate", "1 - 1/SMs", "DRAM hit rate", "predicted", "reads / compulsory", "device"}};
  for (const Recording& recording : data.recordings) {
    if (!data.shows(recording)) continue;
    const std::vector<ActiveSmsPoint> points = validate::active_sms(recording, device_of(recording, data.devices));
    if (points.empty()) continue;
    for (const ActiveSmsPoint& p : points) {
      view.rows.push_back(active_row(recording.head.device.name, p));
      table.push_back({std::to_string(p.sms), cell(p.l2_hit_rate, "{:.4f}"),
                       fmt::format("{:.4f}", p.lockstep), fmt::format("{:.4f}", p.dram_hit_rate),
                       cell(p.predicted, "{:.4f}"), fmt::format("{:.2f}", p.misses),
                       recording.head.device.name});
    }
    for (draw::Picture& each : active_sms_curves(points, stream_capacities(recording)))
      pictures.push_back(std::move(each));
  }
  if (!pictures.empty()) view.picture = draw::beside(pictures, 2);
  append_table(table, view.text, "Hit rates of sectors that L1s load, over the SMs at work (one CTA each)");
  return view.rows.empty() ? std::nullopt : std::optional(view);
}

std::optional<ValidationView> capacities(const RecordedData& data) {
  ValidationView view;
  view.empty_row = capacity_row({}, {});
  std::map<std::pair<std::string, std::int64_t>, std::map<std::int64_t, std::string>> cells;
  std::map<std::int64_t, bool> buffers;
  for (const Recording& recording : data.recordings) {
    if (!data.shows(recording)) continue;
    for (const StreamCapacity& each : stream_capacities(recording)) {
      view.rows.push_back(capacity_row(recording.head.device.name, each));
      cells[{recording.head.device.name, each.sms}][each.buffer_mib] = fmt::format("{:.1f}", each.kept_mib);
      buffers[each.buffer_mib] = true;
    }
  }
  Cells table = {{"SMs"}};
  for (const auto& [mib, there] : buffers) table.front().push_back(fmt::format("of {}", mib));
  table.front().emplace_back("device");
  for (const auto& [at, kept] : cells) {
    table.push_back({std::to_string(at.second)});
    for (const auto& [mib, there] : buffers) table.back().push_back(kept.contains(mib) ? kept.at(mib) : "-");
    table.back().push_back(at.first);
  }
  append_table(table, view.text,
         "MiB that the L2 keeps of a paced sawtooth stream, over the SMs at work and the buffer");
  return view.rows.empty() ? std::nullopt : std::optional(view);
}

}  // namespace natten_sim::report::views

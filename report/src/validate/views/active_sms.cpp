#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/studies/order_study.hpp>

#include "validate/validation_pictures.hpp"
#include "validate/view_tables.hpp"

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

std::optional<ValidationView> make_active_sms(const RecordedData& data) {
  ValidationView view;
  view.empty_row = active_row({}, {});
  std::vector<draw::Chart> charts;
  Cells table = {
      {"SMs", "L2 hit rate", "1 - 1/SMs", "DRAM hit rate", "predicted", "reads / compulsory", "device"}};
  for (const Recording& recording : data.recordings) {
    if (!data.shows(recording)) continue;
    const std::vector<ActiveSmsPoint> points =
        validate::active_sms(recording, device_of(recording, data.devices));
    if (points.empty()) continue;
    for (const ActiveSmsPoint& p : points) {
      view.rows.push_back(active_row(recording.head.device.name, p));
      table.push_back({std::to_string(p.sms), cell(p.l2_hit_rate, "{:.4f}"),
                       fmt::format("{:.4f}", p.lockstep), fmt::format("{:.4f}", p.dram_hit_rate),
                       cell(p.predicted, "{:.4f}"), fmt::format("{:.2f}", p.misses),
                       recording.head.device.name});
    }
    for (draw::Chart& each : active_sms_curves(points, stream_capacities(recording)))
      charts.push_back(std::move(each));
  }
  if (!charts.empty()) view.picture = picture_of(charts, 2, {"Hit rates and misses over the SMs at work", ""});
  append_table(table, view.text, "Hit rates of sectors that L1s load, over the SMs at work (one CTA each)");
  return view.rows.empty() ? std::nullopt : std::optional(view);
}

}  // namespace

ViewKind active_sms_view();
ViewKind active_sms_view() {
  return {
      .name = "active-sms", .position = 70, .drawn = true, .needs = kNeedsFewSms, .make = make_active_sms};
}

}  // namespace natten_sim::report::views

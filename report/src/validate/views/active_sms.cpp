#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/studies/order_study.hpp>

#include "validate/validation_pictures.hpp"
#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

struct ActiveSmsRow {
  const Recording* recording;
  const ActiveSmsPoint* point;
};

template <typename Members>
void describe(Members& m, Of<ActiveSmsRow>) {
  using P = ActiveSmsPoint;
  const auto of = [](auto member) { return path(&ActiveSmsRow::point, member); };
  m.put("device", path(&ActiveSmsRow::recording, &device_name), kDeviceMeaning);
  m.put("sms", of(&P::sms), "SMs at work");
  m.put("dram_hit_rate", of(&P::dram_hit_rate), "1 less DRAM sectors over sectors that L1s load");
  m.put("l2_hit_rate", of(&P::l2_hit_rate), "1 less lookups that miss in the L2 over the same; null: not measured");
  m.put("one_minus_1_over_sms", of(&P::lockstep), "1 less 1 over the SMs at work");
  m.put("predicted_dram_hit_rate", of(&P::predicted), "dram_hit_rate by the closed form; null: it has no answer");
  m.put("misses", of(&P::misses), "DRAM sectors over the compulsory ones");
}

std::optional<ValidationView> make_active_sms(const RecordedData& data) {
  ValidationView view;
  std::vector<draw::Chart> charts;
  Cells table = {
      {"SMs", "L2 hit rate", "1 - 1/SMs", "DRAM hit rate", "predicted", "reads / compulsory", "device"}};
  for (const Recording& recording : data.recordings) {
    if (!data.shows(recording)) continue;
    const std::vector<ActiveSmsPoint> points =
        validate::active_sms(recording, device_of(recording, data.devices));
    if (points.empty()) continue;
    for (const ActiveSmsPoint& p : points) {
      view.rows.push_back(json_of(ActiveSmsRow{&recording, &p}));
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
  return {.name = "active-sms",
          .position = 70,
          .drawn = true,
          .needs = kNeedsFewSms,
          .row_schema = schema_of<ActiveSmsRow>,
          .make = make_active_sms};
}

}  // namespace natten_sim::report::views

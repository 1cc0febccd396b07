#include <map>
#include <utility>

#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/studies/order_study.hpp>

#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using namespace natten_sim::validate;

struct CapacityRow {
  const Recording* recording;
  StreamCapacity capacity;
};

template <typename Members>
void describe(Members& m, Of<CapacityRow>) {
  using C = StreamCapacity;
  const auto of = [](auto member) { return path(&CapacityRow::capacity, member); };
  m.put("device", path(&CapacityRow::recording, &device_name), kDeviceMeaning);
  m.put("sms", of(&C::sms), "SMs at work");
  m.put("buffer_mib", of(&C::buffer_mib), "Buffer that is streamed, in MiB");
  m.put("kept_mib", of(&C::kept_mib), "What the L2 keeps of it, in MiB");
}

std::optional<ValidationView> make_capacity(const RecordedData& data) {
  ValidationView view;
  std::map<std::pair<std::string, std::int64_t>, std::map<std::int64_t, std::string>> cells;
  std::map<std::int64_t, bool> buffers;
  for (const Recording& recording : data.recordings) {
    if (!data.shows(recording)) continue;
    for (const StreamCapacity& each : stream_capacities(recording)) {
      view.rows.push_back(json_of(CapacityRow{&recording, each}));
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

}  // namespace

ViewKind capacity_view();
ViewKind capacity_view() {
  return {.name = "capacity",
          .position = 80,
          .drawn = false,
          .needs = kNeedsFewSms,
          .row_schema = schema_of<CapacityRow>,
          .make = make_capacity};
}

}  // namespace natten_sim::report::views

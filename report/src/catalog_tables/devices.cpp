#include <fmt/format.h>

#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/described.hpp>

namespace natten_sim::report {

namespace {

/// A number of a device, or its list of launch runs.
struct DeviceValueTold {
  Json value;
  bool measured;
  std::string source;
};

Keyed<DeviceValueTold> device_values(const Device& device) {
  Keyed<DeviceValueTold> values;
  for (const DeviceNumber& each : known_numbers(device)) {
    const bool whole = each.value == static_cast<double>(static_cast<std::int64_t>(each.value));
    values.members.push_back({each.name,
                              {whole ? Json(static_cast<std::int64_t>(each.value)) : Json(each.value),
                               each.measured, each.source}});
  }
  if (device.launch_runs) {
    Json runs = Json::array();
    for (const LaunchRun& run : device.launch_runs->value) runs.push_back(Json::array({run.sms, run.partition}));
    values.members.push_back(
        {"launch_runs", {runs, device.launch_runs->measured, device.launch_runs->source}});
  }
  return values;
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<DeviceValueTold>) {
  m.put("value", &DeviceValueTold::value, "A number; of launch_runs pairs of SMs and their partition");
  m.put("measured", &DeviceValueTold::measured, "Whether it was measured, not published");
  m.put("source", &DeviceValueTold::source);
}

template <typename Members>
void describe(Members& m, Of<Device>) {
  m.put("name", &Device::name, "Name of the GPU");
  m.put("title", &Device::title, "The same in words");
  m.put("architecture", &Device::architecture, "Architecture");
  m.put("default_backend", &Device::default_backend, "NATTEN's backend there");
  m.put("values", &device_values, "What is known of it, by name; units are in the names");
}

}  // namespace natten_sim::report

namespace natten_sim::report::tables {
namespace {

/// "8@0 16@1": eight SMs near partition 0, then sixteen near partition 1.
std::string runs_text(const std::vector<LaunchRun>& runs) {
  std::string text;
  for (const LaunchRun& run : runs)
    text += fmt::format("{}{}@{}", text.empty() ? "" : " ", run.sms, run.partition);
  return text;
}

Json device_entries(const Catalog& catalog) { return json_of(catalog.devices); }

/// One row a device's number.
std::vector<Json> device_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const Device& device : catalog.devices) {
    for (const DeviceNumber& value : known_numbers(device)) {
      rows.push_back({{"name", device.name},
                      {"title", device.title},
                      {"architecture", device.architecture},
                      {"default_backend", device.default_backend},
                      {"quantity", value.name},
                      {"value", value.value},
                      {"measured", value.measured},
                      {"source", value.source}});
    }
  }
  return rows;
}

std::string devices_text(const Catalog& catalog) {
  std::string text;
  for (const Device& device : catalog.devices) {
    text += fmt::format("{}   {}   {}   default backend {}\n", device.name, device.title, device.architecture,
                        device.default_backend);
    for (const DeviceNumber& value : known_numbers(device)) {
      text += fmt::format("  {} = {:.12g}{}   [{}]\n", value.name, value.value,
                          value.measured ? " (measured)" : "", value.source);
    }
    if (const auto& runs = device.launch_runs) {
      text += fmt::format("  launch_runs = {}{}   [{}]\n", runs_text(runs->value),
                          runs->measured ? " (measured)" : "", runs->source);
    }
    text += "\n";
  }
  return text;
}

void keep_device(Catalog& catalog, const std::string& name) {
  const std::string found = catalog.device(name).name;
  std::erase_if(catalog.devices, [&](const Device& each) { return each.name != found; });
}

}  // namespace

CatalogTable devices_table();
CatalogTable devices_table() {
  return {.name = "devices",
          .position = 30,
          .entries = device_entries,
          .rows = device_rows,
          .text = devices_text,
          .keep = keep_device,
          .entry_schema = schema_of<Device>};
}

}  // namespace natten_sim::report::tables

#include <natten_sim/core/registry.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>

#include "validate/view_tables.hpp"

namespace natten_sim::report {
namespace views {

std::vector<ViewKind> built_in_views();  // written by CMake: one entry a file of views/

Device device_of(const validate::Recording& recording, const std::vector<Device>& devices) {
  for (const Device& device : devices) {
    if (device.name != recording.head.device.profile) continue;
    if (!device.sms || device.sms->value == recording.head.device.sms) return device;
  }
  return {};
}

}  // namespace views

namespace {

Registry<ViewKind>& view_registry() {
  static Registry<ViewKind> registry("view", views::built_in_views());
  return registry;
}

}  // namespace

namespace {

struct ViewTold {
  std::string name;
  std::vector<Json> rows;
};

}  // namespace

template <typename Members>
void describe(Members& m, Of<ViewTold>) {
  m.put("view", &ViewTold::name, "Name of the view");
  m.put("rows", &ViewTold::rows, "Rows of the view");
}

Json view_json(const std::string& name, const ValidationView& view) {
  return json_of(ViewTold{name, view.rows});
}

Json view_schema() {
  Json any = Json::array(), schema = schema_of<ViewTold>();
  for (const ViewKind* kind : view_kinds()) any.push_back(kind->row_schema());
  schema["properties"]["rows"]["items"] = {{"anyOf", std::move(any)}};
  return schema;
}

Rows view_rows(const ViewKind& kind, const ValidationView& view) { return {header_of(kind.row_schema()), view.rows}; }

const std::vector<const ViewKind*>& view_kinds() { return view_registry().sorted(); }
const ViewKind& view_kind(const std::string& name) { return view_registry().find(name); }
const ViewKind& add_view_kind(ViewKind kind) { return view_registry().add(std::move(kind)); }

}  // namespace natten_sim::report

#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/device_profile_report.hpp>
#include <natten_sim/report/object_schema.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {
namespace {

Catalog catalog_of(const validate::ProfiledDevice& made) {
  Catalog catalog;
  catalog.devices = {made.device};
  return catalog;
}

std::string missing_text(const validate::ProfiledDevice& made) {
  std::string text;
  for (const std::string& name : made.missing) text += (text.empty() ? "Not measured: " : ", ") + name;
  return text.empty() ? "" : wrapped_text(text) + "\n";
}

}  // namespace

Json profile_json(const validate::ProfiledDevice& made) {
  Json result = catalog_json(catalog_of(made), catalog_table("devices"));
  result["missing"] = made.missing;
  return result;
}

Json profile_schema() {
  ObjectSchema profile;
  profile.add("devices", {{"type", "array"}, {"items", catalog_table("devices").entry_schema()}},
              "The GPU's profile, as a device file has it", true);
  profile.add("missing", {{"type", "array"}, {"items", {{"type", "string"}}}},
              "Numbers that were not measured", true);
  return profile.json();
}

Rows profile_rows(const validate::ProfiledDevice& made) {
  return catalog_rows(catalog_of(made), catalog_table("devices"));
}

std::string profile_text(const validate::ProfiledDevice& made) {
  return catalog_table("devices").text(catalog_of(made)) + missing_text(made);
}

}  // namespace natten_sim::report

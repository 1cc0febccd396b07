
#include <natten_sim/core/version.hpp>
#include <natten_sim/report/json.hpp>

namespace natten_sim::report {
namespace {

void flatten(const Json& object, const std::string& prefix, Json& flat) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      flatten(value, prefix + key + "_", flat);
    } else {
      flat[prefix + key] = value;
    }
  }
}

}  // namespace

Json to_json(const Extents& extents) {
  Json array = Json::array();
  for (std::int64_t extent : extents) array.push_back(extent);
  return array;
}

Json to_json(const PerAxis<bool>& values) {
  Json array = Json::array();
  for (bool value : values) array.push_back(value);
  return array;
}

Json wide_integer(Int128 value) {
  if (value == static_cast<std::int64_t>(value)) return static_cast<std::int64_t>(value);
  const std::string digits = decimal(value);
  return Json::of_digits(digits);
}

std::string schema_name(const std::string& subcommand) {
  // reproduce/1 had the numbers as texts.
  return "natten-sim." + subcommand + (subcommand == "reproduce" ? "/3" : "/1");
}

std::string envelope(const std::string& subcommand, Json input, Json result) {
  Json object;
  object["schema"] = schema_name(subcommand);
  object["version"] = version();
  object["input"] = std::move(input);
  object["result"] = std::move(result);
  return json_text(object, JsonLayout::kIndented) + "\n";
}

Json flattened(const Json& object) {
  Json flat = Json::object();
  flatten(object, "", flat);
  return flat;
}

}  // namespace natten_sim::report

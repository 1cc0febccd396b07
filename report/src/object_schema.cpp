#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <natten_sim/report/object_schema.hpp>

namespace natten_sim::report {
namespace {

/// How a member's name ends, and its unit.
struct MemberUnit {
  std::string_view end;
  const char* unit;
};
constexpr MemberUnit kMemberUnits[] = {{"tflops_per_s", "TFLOP/s"},
                                       {"bytes_per_s", "bytes/s"},
                                       {"ms", "ms"},
                                       {"us", "us"},
                                       {"ns", "ns"},
                                       {"bytes", "bytes"},
                                       {"cycles", "cycles"},
                                       {"dollars", "dollars"},
                                       {"s", "s"}};

bool ends_in_word(std::string_view name, std::string_view words) {
  return name == words || (name.ends_with(words) && name[name.size() - words.size() - 1] == '_');
}

const char* unit_of_member(std::string_view name) {
  for (const MemberUnit& unit : kMemberUnits) {
    if (ends_in_word(name, unit.end)) return unit.unit;
  }
  return nullptr;
}

bool may_be(const Json& schema, std::initializer_list<std::string_view> types) {
  if (!schema.contains("type")) return false;
  const Json& given = schema.at("type");
  const auto fits = [&](const Json& type) {
    return std::find(types.begin(), types.end(), type.text()) != types.end();
  };
  return given.is_string() ? fits(given) : std::any_of(given.begin(), given.end(), fits);
}

bool says_unit(std::string_view meaning) {
  return std::any_of(std::begin(kMemberUnits), std::end(kMemberUnits), [&](const MemberUnit& unit) {
    return meaning.ends_with(std::string(" (") + unit.unit + ")");
  });
}

/// Adds the unit to the meaning of a number, of a list of numbers, and of the numbers within an object.
void add_unit(Json& schema, const char* unit) {
  if (may_be(schema, {"object"}) && schema.contains("properties")) {
    Json properties = Json::object();
    for (const auto& [name, inner] : schema.at("properties").items()) {
      Json member = inner;
      add_unit(member, unit);
      properties[name] = std::move(member);
    }
    schema["properties"] = std::move(properties);
    return;
  }
  const bool numbers = may_be(schema, {"number", "integer"}) ||
                       (schema.contains("items") && may_be(schema.at("items"), {"number", "integer"}));
  const std::string meaning = schema.contains("description") ? schema.at("description").text() : "";
  if (numbers && !says_unit(meaning)) schema["description"] = meaning + " (" + unit + ")";
}

}  // namespace

void ObjectSchema::add(const std::string& name, Json schema, const std::string& meaning, bool always) {
  Json described = {{"description", meaning}};
  described.update(schema);
  if (const char* unit = unit_of_member(name)) add_unit(described, unit);
  if (properties_.contains(name)) {  // an alternative has it too
    if (!(properties_.at(name) == described)) throw std::logic_error("two descriptions of " + name);
    return;
  }
  properties_[name] = std::move(described);
  if (always) required_.push_back(name);
}

Json ObjectSchema::json() const {
  return {{"type", "object"},
          {"properties", properties_},
          {"required", required_},
          {"additionalProperties", false}};
}

std::vector<std::string> member_names(const Json& schema) {
  std::vector<std::string> names;
  for (const auto& [name, member] : schema.at("properties").items()) names.push_back(name);
  return names;
}

Json header_of(const Json& schema) {
  Json header = Json::object();
  for (const std::string& name : member_names(schema)) header[name] = nullptr;
  return header;
}

Json one_of(std::initializer_list<Json> schemas) {
  Json properties = Json::object();
  for (const Json& schema : schemas) {
    for (const auto& [name, member] : schema.at("properties").items()) {
      if (!properties.contains(name)) {
        properties[name] = member;
      } else if (!(properties.at(name) == member)) {
        Json& either = properties[name];
        if (!either.contains("anyOf"))
          either = Json{{"description", either.at("description")}, {"anyOf", Json::array({either})}};
        either["anyOf"].push_back(member);
      }
    }
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", Json::array()},
          {"additionalProperties", false}};
}

Json or_null(Json schema) {
  if (!schema.contains("type")) return schema;  // any value
  if (schema.at("type").is_string()) schema["type"] = Json::array({schema.at("type")});
  const Json null = "null";
  if (may_be(schema, {"null"})) return schema;
  schema["type"].push_back(null);
  if (schema.contains("enum")) schema["enum"].push_back(nullptr);
  return schema;
}

}  // namespace natten_sim::report

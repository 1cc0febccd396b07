#include "json_schema.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "cli/answer_schema.hpp"
#include "commands.hpp"

namespace natten_sim::test {
namespace {

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  // Integers of more than 64 bits are read as numbers with a fraction.
  if (type == "integer") return value.is_number_integer() || (value.is_number() && value.get<double>() >= 0x1p63);
  throw std::logic_error("unknown type " + type);
}

bool has_one_type(const Json& value, const Json& types) {
  if (types.is_string()) return has_type(value, types.get<std::string>());
  return std::any_of(types.begin(), types.end(), [&](const Json& type) { return has_type(value, type.get<std::string>()); });
}

std::string object_fault(const Json& value, const Json& schema, const std::string& place) {
  for (const Json& key : schema.value("required", Json::array())) {
    if (!value.contains(key.get<std::string>())) return place + ": no " + key.get<std::string>();
  }
  const Json properties = schema.value("properties", Json::object());
  const Json others = schema.value("additionalProperties", Json(true));
  for (const auto& [key, member] : value.items()) {
    if (properties.contains(key)) {
      const std::string fault = schema_fault(member, properties.at(key), place + "." + key);
      if (!fault.empty()) return fault;
    } else if (others == Json(false)) {
      return place + ": unknown member " + key;
    } else if (others.is_object()) {
      const std::string fault = schema_fault(member, others, place + "." + key);
      if (!fault.empty()) return fault;
    }
  }
  return "";
}

std::string array_fault(const Json& value, const Json& schema, const std::string& place) {
  if (schema.contains("minItems") && value.size() < schema.at("minItems").get<std::size_t>()) return place + ": too short";
  if (schema.contains("maxItems") && value.size() > schema.at("maxItems").get<std::size_t>()) return place + ": too long";
  if (!schema.contains("items")) return "";
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string fault = schema_fault(value[i], schema.at("items"), place + "[" + std::to_string(i) + "]");
    if (!fault.empty()) return fault;
  }
  return "";
}

}  // namespace

std::string schema_fault(const Json& value, const Json& schema, const std::string& place) {
  static const std::set<std::string> known = {
      "$schema", "title", "description", "type", "enum", "const", "properties", "required", "additionalProperties",
      "items", "minItems", "maxItems", "minimum", "maximum", "anyOf"};
  for (const auto& [keyword, rest] : schema.items()) {
    if (!known.contains(keyword)) throw std::logic_error("unknown keyword " + keyword);
  }
  if (schema.contains("anyOf")) {
    const Json& options = schema.at("anyOf");
    const bool fits = std::any_of(options.begin(), options.end(),
                                  [&](const Json& option) { return schema_fault(value, option, place).empty(); });
    if (!fits) return place + ": none of anyOf: " + value.dump();
  }
  if (schema.contains("type") && !has_one_type(value, schema.at("type"))) return place + ": not of its type: " + value.dump();
  if (schema.contains("const") && value != schema.at("const")) return place + ": not the constant";
  if (schema.contains("enum")) {
    const Json& names = schema.at("enum");
    if (std::find(names.begin(), names.end(), value) == names.end()) return place + ": not one of the names: " + value.dump();
  }
  if (value.is_number()) {
    const auto number = value.get<double>();
    if (schema.contains("minimum") && number < schema.at("minimum").get<double>()) return place + ": too small";
    if (schema.contains("maximum") && number > schema.at("maximum").get<double>()) return place + ": too large";
  }
  if (value.is_object()) return object_fault(value, schema, place);
  return value.is_array() ? array_fault(value, schema, place) : "";
}

const Json* answer_schema_of(const std::string& subcommand) {
  static std::map<std::string, Json> known;
  const auto found = known.find(subcommand);
  if (found != known.end()) return &found->second;
  for (const cli::Command& command : cli::commands()) {
    if (command.name == subcommand && cli::has_answer_schema(command))
      return &(known[subcommand] = Json::parse(cli::answer_schema(command).dump()));
  }
  return nullptr;
}

std::string answer_fault(const std::string& printed) {
  static const std::string kBegin = "{\n  \"schema\": \"natten-sim.";
  if (!printed.starts_with(kBegin)) return "";
  const std::string subcommand = printed.substr(kBegin.size(), printed.find('/') - kBegin.size());
  const Json* const schema = answer_schema_of(subcommand);
  const Json answer = Json::parse(printed, nullptr, false);
  if (schema == nullptr || !answer.is_object() || !answer.contains("result")) return "";
  return schema_fault(answer.at("result"), *schema);
}

}  // namespace natten_sim::test

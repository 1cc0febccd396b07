// JSON Schemas of the values that options take.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include <natten_sim/core/per_axis.hpp>

#include "cli/option_value.hpp"

namespace natten_sim::cli {

Json integer_schema(std::int64_t lo, std::int64_t hi) {
  Json schema = {{"type", "integer"}};
  if (lo > std::numeric_limits<std::int64_t>::min()) schema["minimum"] = lo;
  if (hi < std::numeric_limits<std::int64_t>::max()) schema["maximum"] = hi;
  return schema;
}

Json choice_schema(const std::string& choices) {
  Json schema = {{"type", "string"}};
  if (!choices.empty()) {
    Json names = Json::array();
    for (std::size_t begin = 0, end = 0; begin < choices.size(); begin = end + 1) {
      end = std::min(choices.find(' ', begin), choices.size());
      if (end > begin) names.push_back(choices.substr(begin, end - begin));
    }
    schema["enum"] = std::move(names);
  }
  return schema;
}

Json plain_schema(const char* type) { return {{"type", type}}; }

Json per_axis_schema(Json element) {
  return {{"type", "array"}, {"items", std::move(element)}, {"minItems", 1}, {"maxItems", kMaxRank}};
}

Json list_schema(Json element) { return {{"type", "array"}, {"items", std::move(element)}}; }

Json number_schema(const NumberBounds& interval) {
  return {{"type", "number"}, {"minimum", interval.lo}, {"maximum", interval.hi}};
}

Json or_null(Json schema) { return {{"anyOf", Json::array({std::move(schema), plain_schema("null")})}}; }

Json member_schema(Json schema, bool may_be_null, const std::string& help) {
  if (may_be_null) schema = or_null(std::move(schema));
  if (!help.empty()) schema["description"] = help;
  return schema;
}

void put_member(Json& properties, const std::string& key, Json schema) {
  // Two rows of one key, of which a question has one or the other.
  if (properties.contains(key) && properties.at(key) != schema)
    schema = {{"anyOf", Json::array({properties.at(key), std::move(schema)})}};
  properties[key] = std::move(schema);
}

Json object_schema(Json properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

}  // namespace natten_sim::cli

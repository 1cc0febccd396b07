#include <natten_sim/io/result_schemas.hpp>

#include <vector>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/io/json_text.hpp>

#include "embedded_data.hpp"

namespace natten_sim {

bool has_result_schema(const std::string& subcommand) {
  return parse_json(embedded::result_schemas).at("results").contains(subcommand);
}

Json result_schema(const std::string& subcommand) {
  const Json document = parse_json(embedded::result_schemas);
  std::vector<std::string> names;
  for (const auto& [name, schema] : document.at("results").items()) {
    if (name == subcommand) return schema;
    names.push_back(name);
  }
  throw UnknownName("subcommand", subcommand, closest_name(subcommand, names), joined(names));
}

}  // namespace natten_sim

#include "sweep/columns.hpp"

#include <algorithm>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/io/result_schemas.hpp>

namespace natten_sim::cli {
namespace {

/// Columns that answers may have; those of `open` and all that begin with them and an underscore.
struct PossibleColumns {
  std::vector<std::string> names, open;

  [[nodiscard]] bool has(const std::string& column) const {
    return std::find(names.begin(), names.end(), column) != names.end() ||
           std::any_of(open.begin(), open.end(), [&](const std::string& name) {
             return column.starts_with(name + (name.empty() ? "" : "_"));
           });
  }
};

bool is_of(const Json& schema, std::string_view type) {
  if (!schema.contains("type")) return true;
  const Json& types = schema.at("type");
  if (types.is_string()) return types.text() == type;
  return std::any_of(types.begin(), types.end(), [&](const Json& each) { return each.text() == type; });
}

void add_columns(const Json& schema, const std::string& prefix, PossibleColumns& columns) {
  if (!prefix.empty()) columns.names.push_back(prefix);
  if (is_of(schema, "object") && !schema.contains("properties")) columns.open.push_back(prefix);
  if (!schema.contains("properties")) return;
  for (const auto& [name, member] : schema.at("properties").items()) {
    add_columns(member, prefix.empty() ? name : prefix + "_" + name, columns);
    if (is_ranked_list(name) && member.contains("items")) add_columns(member.at("items"), "", columns);
  }
}

}  // namespace

void require_columns(const Command& command, const SweepGrid& grid, const SweepPicture& picture) {
  if (!has_result_schema(command.name)) return;
  PossibleColumns columns{.names = {"error"}, .open = {}};
  for (const SweptOption& option : grid.options()) columns.names.push_back(column_of(option.name));
  add_columns(command.input_schema(), "", columns);
  PossibleColumns result;
  add_columns(result_schema(command.name), "", result);
  for (const std::string& name : result.names) {
    columns.names.push_back(name);
    columns.names.push_back("result_" + name);
  }
  columns.open.insert(columns.open.end(), result.open.begin(), result.open.end());
  for (const auto& [parameter, given] :
       {std::pair{"x", picture.x}, std::pair{"y", picture.y}, std::pair{"by", picture.by}}) {
    if (!given || columns.has(column_of(*given))) continue;
    throw UnknownName(parameter, *given, closest_name(column_of(*given), columns.names),
                      "columns of the table, such as " + joined(result.names));
  }
}

}  // namespace natten_sim::cli

#include "cli/answer_columns.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/result_schemas.hpp>
#include <natten_sim/report/json.hpp>

#include "cli/invocation.hpp"

namespace natten_sim::cli {
namespace {

/// Lists of a result, best first: of each the first element has columns.
constexpr const char* kRanked[] = {"devices", "choices", "candidates"};

bool has_column(const Json& value) {
  return !value.is_array() || std::none_of(value.begin(), value.end(), [](const Json& element) {
    return element.is_object() || element.is_array();
  });
}

void put_result(const Json& result, Json& row) {
  if (!result.is_object()) return;
  const Json flat = report::flattened(result);
  for (const auto& [key, value] : flat.items()) {
    if (has_column(value)) row[row.contains(key) ? "result_" + key : key] = value;
  }
  for (const char* list : kRanked) {
    if (result.contains(list) && result.at(list).is_array() && !result.at(list).empty())
      put_result(result.at(list)[0], row);
  }
}

bool is_of(const Json& schema, std::string_view type) {
  if (!schema.contains("type")) return true;
  const Json& types = schema.at("type");
  if (types.is_string()) return types.text() == type;
  return std::any_of(types.begin(), types.end(), [&](const Json& each) { return each.text() == type; });
}

void add_columns(const Json& schema, const std::string& prefix, std::vector<std::string>& names,
                 std::vector<std::string>& open) {
  if (!prefix.empty()) names.push_back(prefix);
  if (is_of(schema, "object") && !schema.contains("properties")) open.push_back(prefix);
  if (!schema.contains("properties")) return;
  for (const auto& [name, member] : schema.at("properties").items()) {
    add_columns(member, prefix.empty() ? name : prefix + "_" + name, names, open);
    const bool ranked = std::find(std::begin(kRanked), std::end(kRanked), name) != std::end(kRanked);
    if (ranked && member.contains("items")) add_columns(member.at("items"), "", names, open);
  }
}

}  // namespace

std::string column_of(const std::string& option) {
  std::string column = option;
  std::replace(column.begin(), column.end(), '-', '_');
  return column;
}

void put_answer_fields(const Json& input, const Json& result, Json& row) {
  if (input.is_object()) {
    const Json flat = report::flattened(input);
    for (const auto& [key, value] : flat.items()) {
      if (has_column(value)) row[key] = value;
    }
  }
  put_result(result, row);
}

PossibleColumns::PossibleColumns(const Command& command) : known_(has_result_schema(command.name)) {
  if (!known_) return;
  add_columns(command.input_schema(), "", names_, open_);
  add_columns(result_schema(command.name), "", of_results_, open_);
  for (const std::string& name : of_results_) {
    names_.push_back(name);
    names_.push_back("result_" + name);
  }
}

bool PossibleColumns::has(const std::string& column) const {
  return std::find(names_.begin(), names_.end(), column) != names_.end() ||
         std::any_of(open_.begin(), open_.end(), [&](const std::string& name) {
           return column.starts_with(name + (name.empty() ? "" : "_"));
         });
}

void PossibleColumns::require(std::string_view parameter, const std::string& given) const {
  if (!known_ || has(column_of(given))) return;
  throw UnknownName(std::string(parameter), given, closest_name(column_of(given), names_),
                    "columns of the table, such as " + joined(of_results_));
}

AnswerColumns::AnswerColumns(const std::string& subcommand, std::vector<std::string> columns,
                             const std::vector<Command>& commands)
    : columns_(std::move(columns)) {
  if (empty()) return;
  const PossibleColumns possible(Invocation(subcommand, commands).command());
  for (std::string& column : columns_) {
    possible.require("columns", column);
    column = column_of(column);
    if (std::count(columns_.begin(), columns_.end(), column) > 1)
      throw InvalidParameter("columns", "'" + column + "' given twice", "each column once");
  }
}

std::string AnswerColumns::members(const Json& input, const Json& result) const {
  Json row = Json::object();
  put_answer_fields(input, result, row);
  std::string text;
  for (const std::string& column : columns_) {
    text += (text.empty() ? "" : ",") + json_text(Json(column)) + ":" +
            json_text(row.contains(column) ? row.at(column) : Json());
  }
  return text;
}

}  // namespace natten_sim::cli

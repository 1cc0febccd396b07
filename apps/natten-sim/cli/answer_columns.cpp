#include "cli/answer_columns.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/report/json.hpp>

#include "cli/answer_schema.hpp"
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

/// What put_answer_fields makes of an answer, for some columns alone: a row of hundreds is not made for two.
class WantedFields {
 public:
  explicit WantedFields(const std::vector<std::string>& columns) : columns_(columns) {}

  /// The members of an object, each with those of objects within.
  void take(const Json& object) {
    if (!object.is_object()) return;
    name_.clear();
    visit(object, [&](const Json& value) { put(name_, value); });
  }
  void take_result(const Json& result) {
    if (!result.is_object()) return;
    name_.clear();
    visit(result, [&](const Json& value) { put(find(name_) != nullptr ? kOfResult + name_ : name_, value); });
    for (const char* list : kRanked) {
      if (result.contains(list) && result.at(list).is_array() && !result.at(list).empty())
        take_result(result.at(list)[0]);
    }
  }
  [[nodiscard]] const Json* find(const std::string& name) const {
    for (const auto& [taken, value] : taken_) {
      if (taken == name) return value;
    }
    return nullptr;
  }

 private:
  inline static const std::string kOfResult = "result_";

  template <typename Take>
  void visit(const Json& object, const Take& take) {
    const std::size_t outer = name_.size();
    for (const auto& [key, value] : object.items()) {
      name_.resize(outer);
      if (outer > 0) name_ += '_';
      name_ += key;
      if (value.is_object()) {
        visit(value, take);
      } else if (has_column(value)) {
        take(value);
      }
    }
  }
  /// Only a column that is asked for, or that decides what a column of a result is called.
  void put(const std::string& name, const Json& value) {
    const bool wanted = std::any_of(columns_.begin(), columns_.end(), [&](const std::string& column) {
      return column == name || (column.starts_with(kOfResult) && column.substr(kOfResult.size()) == name);
    });
    if (!wanted) return;
    for (auto& [taken, old] : taken_) {
      if (taken != name) continue;
      old = &value;
      return;
    }
    taken_.emplace_back(name, &value);
  }

  const std::vector<std::string>& columns_;
  std::string name_;
  std::vector<std::pair<std::string, const Json*>> taken_;
};

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

PossibleColumns::PossibleColumns(const Command& command) : known_(has_answer_schema(command)) {
  if (!known_) return;
  add_columns(command.input_schema(), "", names_, open_);
  of_input_ = names_.size();
  input_open_ = !open_.empty();
  add_columns(answer_schema(command), "", of_results_, open_);
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

bool PossibleColumns::may_be_of_input(const std::string& column) const {
  const auto end = names_.begin() + static_cast<std::ptrdiff_t>(of_input_);
  return !known_ || input_open_ || column.starts_with("result_") || std::find(names_.begin(), end, column) != end;
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
    of_input_ = of_input_ || possible.may_be_of_input(column);
  }
}

std::string AnswerColumns::members(const Json& input, const Json& result) const {
  WantedFields row(columns_);
  row.take(input);
  row.take_result(result);
  std::string text;
  for (const std::string& column : columns_) {
    const Json* const value = row.find(column);
    text += (text.empty() ? "" : ",") + json_text(Json(column)) + ":" + json_text(value == nullptr ? Json() : *value);
  }
  return text;
}

}  // namespace natten_sim::cli

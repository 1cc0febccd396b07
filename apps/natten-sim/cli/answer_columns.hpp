#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/io/json.hpp>

#include "cli/command.hpp"
#include "cli/reply.hpp"

namespace natten_sim::cli {

/// The column of an option: its name with underscores.
[[nodiscard]] std::string column_of(const std::string& option);

/// Appends an answer to a table's row: the fields of `input`, then those of `result`, in their order and as
/// `outer_inner` where objects are nested. A field of `result` whose name the row has becomes `result_NAME`. The
/// first element of a ranked list (devices, choices, candidates) has columns as if it were the result; other
/// lists of objects have none.
void put_answer_fields(const Json& input, const Json& result, Json& row);

/// Columns that answers of a subcommand may have, by the schemas of its input and result. Where a result has
/// members of any name, all columns below it are let through.
class PossibleColumns {
 public:
  explicit PossibleColumns(const Command& command);
  void add(const std::string& column) { names_.push_back(column); }
  /// @throws UnknownName for `given`, as `parameter`, unless an answer may have it
  void require(std::string_view parameter, const std::string& given) const;
  /// Whether `input` has the column, or a name that one of the result is told apart from.
  [[nodiscard]] bool may_be_of_input(const std::string& column) const;

 private:
  [[nodiscard]] bool has(const std::string& column) const;

  bool known_;  ///< the subcommand's result has a schema
  std::vector<std::string> names_, open_, of_results_;
  std::size_t of_input_ = 0;  ///< of names_, these first ones
  bool input_open_ = false;   ///< `input` has members of any name
};

/// The columns that answers among many are reduced to, in the order in which they were asked for.
///
///     {"id": 7, "visited_tiles": 39304, "window": [18, 24, 24]}
class AnswerColumns {
 public:
  /// None: whole answers.
  AnswerColumns() = default;
  /// @throws UnknownName for one that no answer of `subcommand` has; InvalidParameter for one given twice
  AnswerColumns(const std::string& subcommand, std::vector<std::string> columns,
                const std::vector<Command>& commands);

  [[nodiscard]] bool empty() const { return columns_.empty(); }
  /// Whether `input` decides a column: otherwise it may be null.
  [[nodiscard]] bool of_input() const { return of_input_; }
  /// Members of a JSON object, without its braces. A column that this answer lacks is null.
  [[nodiscard]] std::string members(const Json& input, const Json& result) const;

 private:
  std::vector<std::string> columns_;
  bool of_input_ = false;
};

}  // namespace natten_sim::cli

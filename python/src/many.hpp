#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/parallel.hpp>

#include "keywords.hpp"
#include "row_values.hpp"

namespace natten_sim::python {

/// What all functions of many problems take besides their keywords.
struct ManyOptions {
  bool skip = false;                  ///< rows that are not valid
  std::vector<std::string> members;   ///< that are answered; empty: all
  unsigned threads = 0;               ///< 0: all cores

  /// False for another keyword. @throws InvalidParameter, UnknownName
  bool read(const std::string& name, nb::handle value);
  [[nodiscard]] bool wants(const std::string& member) const;
  /// @throws UnknownName for a member that is none of these
  void require_known(const std::vector<std::string>& known) const;
  [[nodiscard]] unsigned threads_for(std::size_t tasks) const;

  static constexpr const char* kSignature =
      "errors: typing.Literal['raise', 'skip'] | None = None, members: collections.abc.Sequence[str] | None = None, "
      "threads: typing.SupportsIndex | None = None, catalog: Catalog | None = None";
  static constexpr const char* kDoc =
      "    errors: raise, or skip: rows that are not valid are False in `valid`, with counts of 0 and other numbers nan "
      "[raise].\n"
      "    members: The arrays that are answered, by name; fewer take less memory [all].\n"
      "    threads: Threads, 1..1024; the answer does not depend on them [all cores].\n"
      "    catalog: Devices, presets and backends by name [those that ship].\n\n";
};

/// Some keywords of a question with a value a row.
template <typename Q>
struct ManyQuestions {
  struct Column {
    const typename Keywords<Q>::Row* keyword;
    std::unique_ptr<RowValues> values;
  };
  Q first;  ///< with the values of all rows, and those of the first one
  std::vector<Column> columns;
  std::size_t rows = 1;

  void put(const Column& column, std::size_t row, Q& question) const {
    column.values->give(row, [&](const void* value) { column.keyword->put(question, value); });
  }
  [[nodiscard]] const RowValues* find(const std::string& name) const {
    for (const Column& column : columns) {
      if (column.keyword->name == name) return column.values.get();
    }
    return nullptr;
  }
};

/// Reads a value of a keyword: one, or one a row.
template <typename Q>
void read_many(const typename Keywords<Q>::Row& keyword, nb::handle value, ManyQuestions<Q>& many) {
  if (value.is_none()) return;
  std::unique_ptr<RowValues> rows =
      keyword.read_rows == nullptr ? nullptr : keyword.read_rows(keyword.name, value, keyword.accepts);
  if (rows == nullptr) {
    keyword.read(many.first, value);
    return;
  }
  if (!many.columns.empty() && many.rows != rows->rows())
    throw InvalidParameter(keyword.name, std::to_string(rows->rows()) + " rows",
                           std::to_string(many.rows) + " rows, as the other arrays");
  many.rows = rows->rows();
  many.columns.push_back({&keyword, std::move(rows)});
}

/// `error` of a row. @throws InvalidParameter whose parameter names the row too
[[noreturn]] void rethrow_of_row(const Error& error, std::size_t row);

/// Reads all keywords; read_other(name, value) takes those that are none of `keywords` and says whether it did.
template <typename Q, typename ReadOther>
ManyQuestions<Q> read_many(const Keywords<Q>& keywords, const nb::kwargs& given, const char* function,
                           const ReadOther& read_other) {
  ManyQuestions<Q> many;
  keywords.check_company(given);
  for (const auto& [key, value] : given) {
    if (const auto* row = keywords.find(key)) {
      read_many<Q>(*row, value, many);
    } else if (!read_other(std::string(nb::borrow<nb::str>(key).c_str()), value)) {
      if (keywords.spelled(nb::borrow<nb::str>(key).c_str()) != nullptr)
        return read_many(keywords, keywords.respelled(given), function, read_other);
      keywords.unexpected(key, function);
    }
  }
  for (const auto& column : many.columns) {
    try {
      many.put(column, 0, many.first);
    } catch (const Error& error) {
      rethrow_of_row(error, 0);
    }
  }
  return many;
}

/// `def count_many(*, input: int | .. | numpy.typing.ArrayLike | None = None, ..`, without an end.
template <typename Q>
[[nodiscard]] std::string many_signature(const char* function, const Keywords<Q>& keywords) {
  std::string text = std::string("def ") + function + "(*";
  for (const auto& row : keywords.rows()) {
    if (!row.is_keyword) continue;
    text += ", " + row.name + ": " + row.hint + (row.rows_hint != nullptr ? std::string(" | ") + row.rows_hint : "") +
            " | None = None";
  }
  return text + ", ";
}

template <typename Q>
[[nodiscard]] std::string many_doc(const Keywords<Q>& keywords) {
  std::string text = "Args:\n";
  for (const auto& row : keywords.rows()) {
    if (row.is_keyword) text += "    " + row.name + ": " + row.doc + ".\n";
  }
  return text;
}

/// A member of many answers, one value a row.
class MemberArrays {
 public:
  explicit MemberArrays(std::size_t rows) : rows_(rows) {}

  /// Room for one number a row, 0 and nan, that the caller writes; numbers of a row in one thread at a time.
  [[nodiscard]] std::int64_t* integers(const std::string& name);
  [[nodiscard]] double* reals(const std::string& name);
  /// The members of an answer, nested ones as outer_inner, without lists. One thread at a time.
  void take(std::size_t row, const Json& answer, const ManyOptions& options);
  /// Counts(arrays), with `valid`; `group_of_row`: the place of each row's values, empty: as they are. `expected`: of
  /// names asked for that no answer has. @throws UnknownName
  [[nodiscard]] nb::object finish(const std::vector<std::uint8_t>& valid, const RowGroups* groups,
                                  const ManyOptions& options);

 private:
  struct Member {
    std::vector<std::int64_t> integers;  ///< or places of texts
    std::vector<double> reals;
    std::vector<std::string> texts;
    std::vector<std::uint8_t> known;  ///< of whole numbers, flags and texts that not all answers have; empty: all
    std::size_t first = 0;  ///< where it occurs first: members are in the order of the first answers that have them
    enum class Kind { kNone, kInteger, kReal, kFlag, kText } kind = Kind::kNone;
  };
  void take_member(std::size_t row, const std::string& name, const Json& value, const ManyOptions& options, std::size_t& place);
  void take_scalar(std::size_t row, const Json& value, Member& member) const;
  [[nodiscard]] nb::object array_of(const Member& member, const RowGroups* groups) const;

  std::size_t rows_;
  std::vector<std::pair<std::string, std::unique_ptr<Member>>> members_;
  std::map<std::string, std::size_t> places_;
  [[nodiscard]] Member& member(const std::string& name, std::size_t first);
};

/// answer(row of a question, number) for each distinct question, by all threads, without the GIL. `valid[group]` becomes 0
/// for one that is refused, if rows may be skipped. @throws what the first such row throws, with its number
void answer_groups(const RowGroups& groups, const ManyOptions& options, const ProgressFunction& progress,
                   std::vector<std::uint8_t>& valid, const std::function<void(std::size_t group, std::size_t row)>& answer);

}  // namespace natten_sim::python

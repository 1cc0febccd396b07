#pragma once

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/study/describe/members.hpp>
#include <natten_sim/study/describe/other_names.hpp>

#include "python_value.hpp"
#include "row_values.hpp"

namespace natten_sim::python {

/// `doc` with the range before the brackets of the default: "Heads, 1..2^24 [1]". Nothing is said twice.
[[nodiscard]] std::string with_range(const std::string& doc, const std::string& range);

/// What NATTEN, PyTorch and Triton call some keywords.
inline constexpr std::pair<const char*, const char*> kOtherNames[] = {
    {"kernel_size", "window"},  {"window_size", "window"},
    {"is_causal", "causal"},    {"dim", "head_dim"},
    {"BLOCK_M", "q_tile"},      {"BLOCK_N", "kv_tile"},
    {"num_heads", "heads"},     {"batch", "batch_size"},
    {"input_size", "input"},    {"tokens", "seqlen"},
    {"seqlen", "seqlen_q"},     {"layout", "input"},
    {"gpu", "device"},          {"model", "preset"},
    {"shape", "input"},         {"causal", "mask"},
    {"is_causal", "mask"},      {"size", "input"},
    {"speedup", "min_speedup"}};

using study::Echo;
using study::within;

/// `doc` with [default] replaced by what `write` writes, as Python spells it. @throws std::logic_error when
/// it writes nothing.
[[nodiscard]] std::string with_default(const std::string& doc, const std::function<bool(Json&)>& write);

/// Whether a caller says something by the keyword: neither None nor False.
[[nodiscard]] bool is_given(const nb::kwargs& given, const std::string& name);
/// What a keyword that is given excludes, needs and rules out.
void check_company(const std::string& name, const std::vector<std::string>& excludes,
                   const std::vector<std::string>& needs, const study::RuledOut& rules_out, const nb::kwargs& given);

/// The keywords of a function as rows, each bound to a member of the question's struct. A row gives the
/// parsing, the signature, the docstring and the echo in `input`. Names and units are those of the program's
/// options; defaults are those of the struct: [default] in the text of a row prints it.
///
///     Keywords<study::CountQuestion> rows;
///     rows.add("window", &CountQuestion::window, "Window, one size an axis [the whole axis]");
template <typename Q>
class Keywords {
 public:
  struct Row {
    std::string name, hint, doc;
    Echo echo = Echo::kAlways;
    bool is_keyword = true;  ///< else of `input` alone
    nb::object interned;     ///< the name as callers pass it, mostly the same object
    std::vector<std::string> others = {};    ///< study::other_names
    std::vector<std::string> excludes = {};  ///< as in study::About
    std::vector<std::string> needs = {};
    study::RuledOut rules_out = {};
    std::function<void(Q&, nb::handle)> read;
    std::function<bool(Q&, Json&)> write;
    Json (*schema)() = nullptr;  ///< of what it writes
    /// How many problems are asked about: values of all rows, and a row's value into the question. Null: one value alone.
    std::unique_ptr<RowValues> (*read_rows)(const std::string&, nb::handle, const Accepts&) = nullptr;
    std::function<void(Q&, const void*)> put = {};
    Accepts accepts = {};
    const char* rows_hint = nullptr;
  };

  /// `access`: a pointer to a member, within(..), or a function from Q& to a reference.
  template <typename Access>
  Keywords& add(const std::string& name, Access access, const std::string& doc, Echo echo = Echo::kAlways,
                const Accepts& accepts = {}) {
    using T = std::remove_cvref_t<std::invoke_result_t<Access, Q&>>;
    Row row{.name = name, .hint = PythonValue<T>::hint(), .doc = doc, .echo = echo};
    row.doc = with_default(with_range(doc, range_of<T>(accepts)), [&](Json& out) {
      Q question{};
      return PythonValue<T>::write(std::invoke(access, question), out);
    });
    row.interned = nb::steal(PyUnicode_InternFromString(name.c_str()));
    row.read = [=](Q& question, nb::handle value) {
      std::invoke(access, question) = PythonValue<T>::read(name, value, accepts);
    };
    row.write = [=](Q& question, Json& out) {
      return PythonValue<T>::write(std::invoke(access, question), out);
    };
    row.schema = EchoSchema<T>::of;
    if constexpr (natten_sim::python::rows_hint<T>() != nullptr) {
      row.read_rows = natten_sim::python::read_rows<T>;
      row.put = [=](Q& question, const void* value) { std::invoke(access, question) = *static_cast<const T*>(value); };
      row.accepts = accepts;
      row.rows_hint = natten_sim::python::rows_hint<T>();
    }
    rows_.push_back(std::move(row));
    return *this;
  }

  /// True sets the member to `value`.
  template <typename Access, typename T>
  Keywords& choose(const std::string& name, Access access, T value, const std::string& doc,
                   Echo echo = Echo::kAlways) {
    Row row{.name = name, .hint = "bool", .doc = doc, .echo = echo};
    row.doc = with_default(doc, [&](Json& out) {
      Q question{};
      out = std::invoke(access, question) == value;
      return true;
    });
    row.interned = nb::steal(PyUnicode_InternFromString(name.c_str()));
    row.read = [=](Q& question, nb::handle given) {
      if (boolean_of(name, given)) std::invoke(access, question) = value;
    };
    row.write = [=](Q& question, Json& out) {
      out = std::invoke(access, question) == value;
      return true;
    };
    row.schema = EchoSchema<bool>::of;
    rows_.push_back(std::move(row));
    return *this;
  }

  /// A member of `input` that no keyword sets by itself.
  template <typename Access>
  Keywords& echo_only(const std::string& name, Access access, Echo echo = Echo::kAlways) {
    add(name, access, "", echo);
    rows_.back().is_keyword = false;
    return *this;
  }

  Keywords& include(Keywords part) {
    has_company_ = has_company_ || part.has_company_;
    std::move(part.rows_.begin(), part.rows_.end(), std::back_inserter(rows_));
    return *this;
  }

  /// The rows of a member of Q.
  template <typename P, typename Access>
  Keywords& include(const Keywords<P>& part, Access access) {
    has_company_ = has_company_ || part.has_company();
    for (const auto& from : part.rows()) {
      Row row{.name = from.name,
              .hint = from.hint,
              .doc = from.doc,
              .echo = from.echo,
              .is_keyword = from.is_keyword,
              .interned = from.interned,
              .others = from.others,
              .excludes = from.excludes,
              .needs = from.needs,
              .rules_out = from.rules_out};
      row.read = [=, read = from.read](Q& question, nb::handle value) {
        read(std::invoke(access, question), value);
      };
      row.write = [=, write = from.write](Q& question, Json& out) {
        return write(std::invoke(access, question), out);
      };
      row.schema = from.schema;
      if (from.read_rows != nullptr) {
        row.read_rows = from.read_rows;
        row.put = [=, put = from.put](Q& question, const void* value) { put(std::invoke(access, question), value); };
        row.accepts = from.accepts;
        row.rows_hint = from.rows_hint;
      }
      rows_.push_back(std::move(row));
    }
    return *this;
  }

  /// What the last row added is called too, excludes, needs and rules out.
  void keep_company(const std::string& member, const study::About& about) {
    rows_.back().others = study::other_names(member, about);
    rows_.back().excludes = about.excludes;
    rows_.back().needs = about.needs;
    rows_.back().rules_out = about.rules_out;
    has_company_ = has_company_ || !about.excludes.empty() || !about.needs.empty() || !about.rules_out.options.empty();
  }

  /// The rows of these names, in this order. @throws std::logic_error for a name that no row has
  [[nodiscard]] Keywords only(const std::vector<std::string>& names) const {
    Keywords some;
    some.has_company_ = has_company_;
    for (const std::string& name : names) {
      const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& each) { return each.name == name; });
      if (row == rows_.end()) throw std::logic_error("no keyword is named " + name);
      some.rows_.push_back(*row);
    }
    return some;
  }

  /// @throws Conflict, InvalidParameter for keywords that contradict each other, or need one that is not given
  void check_company(const nb::kwargs& given) const {
    if (!has_company_) return;
    for (const Row& row : rows_) {
      if (row.excludes.empty() && row.needs.empty() && row.rules_out.options.empty()) continue;
      if (is_given(given, row.name)) natten_sim::python::check_company(row.name, row.excludes, row.needs, row.rules_out, given);
    }
  }

  /// The row that a caller's keyword names, or null.
  [[nodiscard]] const Row* find(nb::handle key) const {
    for (const Row& row : rows_) {
      if (row.interned.is(key)) return row.is_keyword ? &row : nullptr;
    }
    for (const Row& row : rows_) {
      if (row.is_keyword && PyUnicode_Compare(row.interned.ptr(), key.ptr()) == 0) return &row;
    }
    return nullptr;
  }

  /// The keyword that another spelling stands for: an own name goes before. Null: none.
  [[nodiscard]] const Row* spelled(const std::string& name) const {
    for (const Row& row : rows_) {
      if (row.is_keyword && std::find(row.others.begin(), row.others.end(), name) != row.others.end()) return &row;
    }
    return nullptr;
  }

  /// The same with keywords in place of other spellings. @throws InvalidParameter where both are given
  [[nodiscard]] nb::kwargs respelled(const nb::kwargs& given) const {
    nb::dict respelled;
    for (const auto& [key, value] : given) {
      const Row* const row = find(key) == nullptr ? spelled(nb::borrow<nb::str>(key).c_str()) : nullptr;
      const nb::object name = row == nullptr ? nb::borrow(key) : row->interned;
      if (respelled.contains(name))
        throw InvalidParameter(nb::borrow<nb::str>(key).c_str(), "given twice", "each option once");
      respelled[name] = value;
    }
    return nb::borrow<nb::kwargs>(respelled);
  }

  /// None means the default.
  void read(Q& question, nb::handle key, nb::handle value, const char* function) const {
    const Row* row = find(key);
    if (row == nullptr) unexpected(key, function);
    if (!value.is_none()) row->read(question, value);
  }

  /// Raises a TypeError that names the closest keyword.
  [[noreturn]] void unexpected(nb::handle key, const char* function) const {
    std::vector<std::string> names;
    for (const Row& row : rows_) {
      if (row.is_keyword) names.push_back(row.name);
    }
    const std::string name = nb::borrow<nb::str>(key).c_str();
    std::string closest = closest_name(name, names);
    for (const auto& [theirs, ours] : kOtherNames) {
      if (name == theirs && std::find(names.begin(), names.end(), ours) != names.end()) closest = ours;
    }
    throw nb::type_error((std::string(function) + "() got an unexpected keyword argument '" + name + "'" +
                          (closest.empty() ? "" : "; did you mean '" + closest + "'?"))
                             .c_str());
  }

  /// `input` as the program echoes it.
  [[nodiscard]] Json echo(Q question) const {
    Json object = Json::object();
    for (const Row& row : rows_) {
      if (row.echo == Echo::kNever) continue;
      Json value;
      // Python's own words end with an underscore: for_.
      const std::string member = row.name.substr(0, row.name.find_last_not_of('_') + 1);
      if (row.write(question, value)) {
        object[member] = std::move(value);
      } else if (row.echo == Echo::kAlways) {
        object[member] = nullptr;
      }
    }
    return object;
  }

  /// JSON Schema of echo(), in which answers leave these members null.
  [[nodiscard]] Json echo_schema(const std::vector<std::string>& may_be_null) const {
    report::ObjectSchema object;
    for (const Row& row : rows_) {
      if (row.echo == Echo::kNever) continue;
      const std::string member = row.name.substr(0, row.name.find_last_not_of('_') + 1);
      const bool null = std::find(may_be_null.begin(), may_be_null.end(), member) != may_be_null.end();
      object.add(member, null ? report::or_null(row.schema()) : row.schema(), row.doc, row.echo == Echo::kAlways);
    }
    return object.json();
  }

  [[nodiscard]] const std::vector<Row>& rows() const& { return rows_; }
  [[nodiscard]] bool has_company() const { return has_company_; }

 private:
  std::vector<Row> rows_;
  bool has_company_ = false;  ///< whether a row excludes, needs or rules out others
};

}  // namespace natten_sim::python

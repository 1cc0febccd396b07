#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/option_range.hpp"
#include "cli/option_value.hpp"

namespace natten_sim::cli {

// What a row of options is made of once its types are forgotten. A program has hundreds of rows over a few
// types of values: code that names neither the question nor the value is compiled once, which divides the
// size of the program in a browser.

/// How the values of one type are read and written. `value` points to one of that type.
class ValueKind {
 public:
  ValueKind() = default;
  ValueKind(const ValueKind&) = delete;
  ValueKind& operator=(const ValueKind&) = delete;
  virtual ~ValueKind() = default;
  [[nodiscard]] virtual int max_values() const = 0;
  [[nodiscard]] virtual std::string choices() const = 0;  ///< empty: open
  [[nodiscard]] virtual std::string other_choices() const { return {}; }  ///< as OptionSpec has it
  [[nodiscard]] virtual std::string range(const About& about) const = 0;  ///< as OptionSpec has it
  [[nodiscard]] virtual bool text() const { return false; }               ///< as OptionSpec has it
  [[nodiscard]] virtual bool may_be_empty() const { return false; }       ///< whether no value is a value
  virtual void read_words(const std::string& name, const Words& words, const About& about,
                          void* value) const = 0;
  virtual void read_json(const std::string& name, const Json& given, const About& about,
                         void* value) const = 0;
  /// False: the type has no plain values, or this is none; the value is left as it is.
  virtual bool read_plain(const PlainValue& given, const About& about, void* value) const = 0;
  virtual void copy(const void* from, void* value) const = 0;
  /// False: there is no value.
  virtual bool write_json(const void* value, Json& out) const = 0;
  [[nodiscard]] virtual Json schema(const About& about, const std::string& help) const = 0;
};

/// Of an OptionValue<T>.
template <typename T>
class KindOf final : public ValueKind {
 public:
  [[nodiscard]] int max_values() const override { return OptionValue<T>::kMaxValues; }
  [[nodiscard]] std::string choices() const override {
    if constexpr (requires { OptionValue<T>::choices(); }) {
      return OptionValue<T>::choices();
    } else {
      return {};
    }
  }
  [[nodiscard]] std::string other_choices() const override {
    if constexpr (requires { OptionValue<T>::other_choices(); }) {
      return OptionValue<T>::other_choices();
    } else {
      return {};
    }
  }
  [[nodiscard]] std::string range(const About& about) const override { return range_of<T>(about); }
  [[nodiscard]] bool text() const override { return kIsText<T>; }
  [[nodiscard]] bool may_be_empty() const override {
    return requires { OptionValue<T>::kMayBeEmpty; };
  }
  void read_words(const std::string& name, const Words& words, const About& about,
                  void* value) const override {
    *static_cast<T*>(value) = OptionValue<T>::from_words(name, words, about);
  }
  void read_json(const std::string& name, const Json& given, const About& about, void* value) const override {
    read_value<T>(name, given, about, *static_cast<T*>(value));
  }
  bool read_plain(const PlainValue& given, const About& about, void* value) const override {
    if constexpr (requires(T out) { OptionValue<T>::from_plain(PlainValue{}, about, out); }) {
      return OptionValue<T>::from_plain(given, about, *static_cast<T*>(value));
    } else {
      return false;
    }
  }
  void copy(const void* from, void* value) const override {
    *static_cast<T*>(value) = *static_cast<const T*>(from);
  }
  bool write_json(const void* value, Json& out) const override {
    return write_value<T>(*static_cast<const T*>(value), out);
  }
  [[nodiscard]] Json schema(const About& about, const std::string& help) const override {
    return member_schema(schema_of<T>(about), kMayBeAbsent<T> && about.echo == Echo::kAlways, help);
  }
};

/// The one of T, which lives as long as the program.
template <typename T>
[[nodiscard]] std::shared_ptr<const ValueKind> kind_of() {
  static const KindOf<T> kind;
  return {std::shared_ptr<const void>(), &kind};
}

/// A flag that sets its member to one value; true or false in JSON.
template <typename T>
class ChoiceOf final : public ValueKind {
 public:
  explicit ChoiceOf(T chosen) : chosen_(std::move(chosen)) {}
  [[nodiscard]] int max_values() const override { return OptionValue<bool>::kMaxValues; }
  [[nodiscard]] std::string choices() const override { return {}; }
  [[nodiscard]] std::string range(const About&) const override { return {}; }
  void read_words(const std::string&, const Words&, const About&, void* value) const override {
    *static_cast<T*>(value) = chosen_;
  }
  void read_json(const std::string& name, const Json& given, const About& about, void* value) const override {
    bool on = false;
    read_value(name, given, about, on);
    if (on) *static_cast<T*>(value) = chosen_;
  }
  bool read_plain(const PlainValue&, const About&, void*) const override { return false; }
  void copy(const void*, void*) const override {}
  bool write_json(const void* value, Json& out) const override {
    return OptionValue<bool>::to_json(*static_cast<const T*>(value) == chosen_, out);
  }
  [[nodiscard]] Json schema(const About&, const std::string& help) const override {
    return member_schema(plain_schema("boolean"), false, help);
  }

 private:
  T chosen_;
};

/// Finds a member in a question, or in a part of a part of it: a step each. Without steps: the question.
class Place {
 public:
  Place() = default;
  /// @param access  a pointer to a member, or a function from Q& to a reference
  template <typename Q, typename Access>
  [[nodiscard]] static Place of(Access access) {
    static_assert(sizeof(Access) <= sizeof(Step::access) && std::is_trivially_copyable_v<Access>);
    Step step{.in = &member_of<Q, Access>};
    std::memcpy(step.access.data(), &access, sizeof(Access));
    return Place({step});
  }
  [[nodiscard]] void* in(void* question) const;
  /// This place of a part that stands at `part` of a question.
  [[nodiscard]] Place within(const Place& part) const;

 private:
  struct Step {
    void* (*in)(const void* access, void* question) = nullptr;
    alignas(std::max_align_t) std::array<std::byte, 32> access = {};
  };
  explicit Place(std::vector<Step> steps) : steps_(std::move(steps)) {}
  template <typename Q, typename Access>
  static void* member_of(const void* access, void* question) {
    return &std::invoke(*static_cast<const Access*>(access), *static_cast<Q*>(question));
  }

  std::vector<Step> steps_;
};

/// A question with its defaults.
using FreshQuestion = std::shared_ptr<void> (*)();
template <typename Q>
std::shared_ptr<void> fresh_question() {
  return std::make_shared<Q>();
}

/// Where a member has its default: in a fresh question of the type that the row was added for.
struct Default {
  FreshQuestion fresh = nullptr;
  Place place = {};
};

/// One option: what CLI11, help and completion need, and how its value goes into a question and out of it.
/// `question` is of the type whose Options have the row.
struct OptionRow {
  OptionSpec spec;   ///< without flags: JSON only
  std::string name;  ///< of the option, in messages
  About about;
  std::shared_ptr<const ValueKind> kind;
  Place place;
  Default otherwise = {};  ///< a flag's: none, which leaves the member as it is
  bool positional = false;

  template <typename Q>
  void read_words(Q& question, const Words& words) const {
    kind->read_words(name, words, about, place.in(&question));
  }
  /// A value of a file, a request or a line; null is the default. `spelled`: how it names the option.
  template <typename Q>
  void read_json(Q& question, const std::string& spelled, const Json& value) const {
    read_json_at(place.in(&question), spelled, value);
  }
  /// False: the type has no plain values, or this is none.
  template <typename Q>
  bool read_plain(Q& question, const PlainValue& value) const {
    return kind->read_plain(value, about, place.in(&question));
  }
  /// Whether JSON may set it.
  [[nodiscard]] bool has_key() const { return about.echo != Echo::kNever || about.batch; }

 private:
  void read_json_at(void* value, const std::string& spelled, const Json& given) const;
  void require_number(const std::string& spelled, const Json& given) const;
};

/// [default] in the help is what `fresh` has at `place`.
[[nodiscard]] OptionRow make_row(const std::string& flags, const About& about,
                                 std::shared_ptr<const ValueKind> kind, Place place,
                                 FreshQuestion fresh);
/// A flag's, whose help names no default.
[[nodiscard]] OptionRow make_choice(const std::string& flags, const About& about,
                                    std::shared_ptr<const ValueKind> kind,
                                    Place place);
/// The same row of a question that holds the row's own at `part`.
[[nodiscard]] OptionRow row_within(const OptionRow& row, const Place& part);

/// Rows in the order of help, whatever they are of.
class OptionRows {
 public:
  [[nodiscard]] const std::vector<OptionRow>& rows() const& { return rows_; }
  [[nodiscard]] std::vector<OptionRow> rows() && { return std::move(rows_); }

  /// JSON Schema of what echo() returns, for any question.
  [[nodiscard]] Json input_schema() const;

 protected:
  [[nodiscard]] Json echo_of(void* question) const;
  /// @throws std::logic_error for a key that no row has
  [[nodiscard]] std::vector<OptionRow> rows_of(const std::vector<std::string>& keys) const;
  void set_group(const std::string& title);
  void set_essentials(const std::vector<std::string>& names);

  std::vector<OptionRow> rows_;
};

/// Gives `command` what it shows of the rows.
/// @return the rows in the order of Form: options, the positional one, keys of `input`
[[nodiscard]] std::shared_ptr<const std::vector<OptionRow>> declare_rows(Command& command,
                                                                         OptionRows options);

}  // namespace natten_sim::cli

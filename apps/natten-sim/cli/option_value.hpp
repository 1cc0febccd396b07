#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <natten_sim/core/attention_kernel.hpp>
#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/io/given_value.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/io/plain_value.hpp>
#include <natten_sim/io/value_text.hpp>
#include <natten_sim/search/windows/search.hpp>
#include <natten_sim/study/describe/about.hpp>

#include "cli/command.hpp"

namespace natten_sim::cli {
using Words = std::vector<std::string>;

using study::About;
using study::Echo;
using study::IntegerBounds;
using study::NumberBounds;

/// How a type is read and written. Specialise it for a type of your own:
///     template <>
///     struct OptionValue<Order> {
///       static constexpr int kMaxValues = 1;
///       static Order from_words(const std::string& name, const Words& words, const About& about);
///       static bool to_json(const Order& order, Json& out);  // false: has no value
///       static std::string choices();                        // optional
///     };
/// The reader throws InvalidParameter or UnknownName naming the option as it was spelled, the value and what
/// is accepted. It reads values of JSON too, as words (given_value.hpp). A type may also have
///   * `static bool from_plain(const PlainValue& value, const About& about, T& out)`, which saves the words:
///     false leaves the value, and what is wrong with it, to the reader;
///   * `static T from_json(const std::string& name, const Json& value, const About& about)`, where words
///     cannot say it;
///   * `static constexpr bool kMayBeEmpty = true`: it is a list, and none is one.
template <typename T>
struct OptionValue;

// What the specialisations below are made of; the texts as messages have them.
[[nodiscard]] std::int64_t integer_from_words(const std::string& name, const std::vector<std::string>& words,
                                              const About& about);
void put_integer(std::int64_t value, Json& out);
void put_unsigned(std::uint64_t value, Json& out);
void put_text(const std::string& text, Json& out);

template <>
struct OptionValue<bool> {
  static constexpr int kMaxValues = 1;
  static bool from_words(const std::string& name, const std::vector<std::string>& words, const About&);
  static bool from_plain(const PlainValue& value, const About&, bool& out) {
    if (value.values.size() != 1 || (value.values[0] != 0 && value.values[0] != 1)) return false;
    out = value.values[0] == 1;
    return true;
  }
  static bool to_json(bool value, Json& out);
};

template <std::integral T>
requires(!std::same_as<T, bool>) struct OptionValue<T> {
  static constexpr int kMaxValues = 1;
  static About narrowed(About about) {
    about.range.lo = std::max<std::int64_t>(about.range.lo, std::is_unsigned_v<T> ? 0 : lowest());
    about.range.hi = std::min(about.range.hi, highest());
    return about;
  }
  static T from_words(const std::string& name, const std::vector<std::string>& words, const About& about) {
    return static_cast<T>(integer_from_words(name, words, narrowed(about)));
  }
  static bool from_plain(const PlainValue& value, const About& about, T& out) {
    if (value.values.size() != 1 || value.is_boolean) return false;
    const std::int64_t lo = std::max<std::int64_t>(about.range.lo, std::is_unsigned_v<T> ? 0 : lowest());
    if (value.values[0] < lo || value.values[0] > std::min(about.range.hi, highest())) return false;
    out = static_cast<T>(value.values[0]);
    return true;
  }
  static bool to_json(T value, Json& out) {
    if constexpr (std::is_unsigned_v<T>) {
      put_unsigned(value, out);
    } else {
      put_integer(value, out);
    }
    return true;
  }

 private:
  static constexpr std::int64_t lowest() {
    return sizeof(T) < 8 ? static_cast<std::int64_t>(std::numeric_limits<T>::min())
                         : std::numeric_limits<std::int64_t>::min();
  }
  static constexpr std::int64_t highest() {
    return sizeof(T) < 8 ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                         : std::numeric_limits<std::int64_t>::max();
  }
};

/// A list of any length, each in About::range.
template <>
struct OptionValue<std::vector<std::int64_t>> {
  static constexpr int kMaxValues = 16;
  static constexpr bool kMayBeEmpty = true;
  static std::vector<std::int64_t> from_words(const std::string& name, const std::vector<std::string>& words,
                                              const About& about);
  static bool from_plain(const PlainValue& value, const About& about, std::vector<std::int64_t>& out);
  static bool to_json(const std::vector<std::int64_t>& values, Json& out);
};

template <>
struct OptionValue<double> {
  static constexpr int kMaxValues = 1;
  static double from_words(const std::string& name, const std::vector<std::string>& words, const About&);
  static bool to_json(double value, Json& out);
};

/// Any text, or one of About::choices.
template <>
struct OptionValue<std::string> {
  static constexpr int kMaxValues = 1;
  static std::string from_words(const std::string& name, const std::vector<std::string>& words, const About&);
  static bool to_json(const std::string& value, Json& out);
};

/// A name, or a kernel file, which is read.
template <>
struct OptionValue<KernelChoice> {
  static constexpr int kMaxValues = 1;
  static constexpr bool kIsText = true;
  static KernelChoice from_words(const std::string& name, const std::vector<std::string>& words, const About&);
  static bool to_json(const KernelChoice& value, Json& out);
};

/// Several of these.
template <>
struct OptionValue<std::vector<KernelChoice>> {
  static constexpr int kMaxValues = 64;
  static constexpr bool kIsText = true;
  static constexpr bool kMayBeEmpty = true;
  static std::vector<KernelChoice> from_words(const std::string& name, const std::vector<std::string>& words,
                                              const About&);
  static bool to_json(const std::vector<KernelChoice>& value, Json& out);
  static Json schema(const About&);
};

/// Words of one option, as they were given.
template <>
struct OptionValue<std::vector<std::string>> {
  static constexpr int kMaxValues = 64;
  static constexpr bool kMayBeEmpty = true;
  static std::vector<std::string> from_words(const std::string& name, const std::vector<std::string>& words,
                                             const About&);
  static bool to_json(const std::vector<std::string>& value, Json& out);
};

template <Named E>
struct OptionValue<E> {
  static constexpr int kMaxValues = 1;
  static std::string choices() { return joined(names_of<E>(), " "); }
  static std::string other_choices() { return joined(other_names_of<E>(), " "); }
  static E from_words(const std::string& name, const std::vector<std::string>& words, const About& about) {
    const std::string known = about.choices.empty() ? choices() : about.choices;
    const std::optional<E> meant = named<E>(words.front());
    require_choice(name, meant ? to_string(*meant) : words.front(), known);
    return parse_name<E>(words.front(), name);
  }
  static bool to_json(E value, Json& out) {
    put_text(to_string(value), out);
    return true;
  }
};

/// 30 48 80, 30x48x80 or 30,48,80. About::range bounds each size.
template <>
struct OptionValue<Extents> {
  static constexpr int kMaxValues = 4;
  static Extents from_words(const std::string& name, const std::vector<std::string>& words, const About&);
  static bool from_plain(const PlainValue& value, const About& about, Extents& out);
  static bool to_json(const Extents& value, Json& out);
};

template <>
struct OptionValue<PerAxis<bool>> {
  static constexpr int kMaxValues = 4;
  static PerAxis<bool> from_words(const std::string& name, const std::vector<std::string>& words,
                                  const About&);
  static bool from_plain(const PlainValue& value, const About&, PerAxis<bool>& out);
  static bool to_json(const PerAxis<bool>& value, Json& out);
};

/// As study::parse_ranges has it.
template <>
struct OptionValue<PerAxis<IntRange>> {
  static constexpr int kMaxValues = 4;
  static PerAxis<IntRange> from_words(const std::string& name, const std::vector<std::string>& words,
                                      const About&);
  static bool to_json(const PerAxis<IntRange>& value, Json& out);
};

/// As study::parse_shares has it.
template <>
struct OptionValue<SparsityRange> {
  static constexpr int kMaxValues = 2;
  static SparsityRange from_words(const std::string& name, const std::vector<std::string>& words,
                                  const About&);
  static bool to_json(const SparsityRange& value, Json& out);
};

template <typename T>
struct OptionValue<std::optional<T>> {
  static constexpr int kMaxValues = OptionValue<T>::kMaxValues;
  static std::string choices() requires requires { OptionValue<T>::choices(); }
  { return OptionValue<T>::choices(); }
  static std::string other_choices() requires requires { OptionValue<T>::other_choices(); }
  { return OptionValue<T>::other_choices(); }
  static std::optional<T> from_words(const std::string& name, const std::vector<std::string>& words,
                                     const About& about) {
    return OptionValue<T>::from_words(name, words, about);
  }
  static bool from_plain(const PlainValue& value, const About& about, std::optional<T>& out) requires
      requires(T inner) {
    OptionValue<T>::from_plain(value, about, inner);
  }
  {
    T inner{};
    if (!OptionValue<T>::from_plain(value, about, inner)) return false;
    out = inner;
    return true;
  }
  static bool to_json(const std::optional<T>& value, Json& out) {
    return value && OptionValue<T>::to_json(*value, out);
  }
};

template <typename T>
bool write_value(const T& value, Json& out) {
  return OptionValue<T>::to_json(value, out);
}

/// Reads a value of a file of options, a request or a line into `out`.
template <typename T>
void read_value(const std::string& name, const Json& value, const About& about, T& out) {
  if constexpr (requires { OptionValue<T>::from_json(name, value, about); }) {
    out = OptionValue<T>::from_json(name, value, about);
  } else {
    if constexpr (requires { OptionValue<T>::from_plain(PlainValue{}, about, out); }) {
      const PlainValues values(value);
      const std::optional<PlainValue> plain = values.get();
      if (plain && OptionValue<T>::from_plain(*plain, about, out)) return;
    }
    out = OptionValue<T>::from_words(name, words_of(name, value), about);
  }
}

/// The part of a row that CLI11, help and completion need.
[[nodiscard]] OptionSpec spec_of(const std::string& flags, const About& about, int max_values,
                                 const std::string& choices);

// JSON Schemas of values; none of them throws.
[[nodiscard]] Json integer_schema(std::int64_t lo, std::int64_t hi);
[[nodiscard]] Json choice_schema(const std::string& choices);
[[nodiscard]] Json plain_schema(const char* type);
/// 1 to 4 of them, one an axis.
[[nodiscard]] Json per_axis_schema(Json element);
[[nodiscard]] Json list_schema(Json element);
[[nodiscard]] Json number_schema(const NumberBounds& interval);
[[nodiscard]] Json or_null(Json schema);

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// Whether a value is a text, or several: nothing that JSON has a number or a boolean for.
template <typename T>
inline constexpr bool kIsText =
    std::same_as<T, std::string> || std::same_as<T, std::vector<std::string>> || Named<T> || requires {
  OptionValue<T>::kIsText;
};
template <typename T>
inline constexpr bool kIsText<std::optional<T>> = kIsText<T>;

/// Whether a value is a boolean for each axis: the flag alone means all of them.
template <typename T>
inline constexpr bool kTakesBooleans = std::same_as<T, PerAxis<bool>> || requires { OptionValue<T>::kTakesBooleans; };
template <typename T>
inline constexpr bool kTakesBooleans<std::optional<T>> = kTakesBooleans<T>;

/// Whether a value may be none, which `input` shows as null.
template <typename T>
inline constexpr bool kMayBeAbsent = kIsOptional<T> || std::same_as<T, Extents> || std::same_as<T, PerAxis<bool>> ||
                                     std::same_as<T, PerAxis<IntRange>>;

/// What `input` may hold for an option of type T. A type of a subcommand's own says it by
/// `static Json schema(const About&)`; without one it is a name of its choices or a text.
template <typename T>
[[nodiscard]] Json schema_of(const About& about) {
  if constexpr (requires { OptionValue<T>::schema(about); }) {
    return OptionValue<T>::schema(about);
  } else if constexpr (std::same_as<T, bool>) {
    return plain_schema("boolean");
  } else if constexpr (std::integral<T>) {
    const About narrowed = OptionValue<T>::narrowed(about);
    return integer_schema(narrowed.range.lo, narrowed.range.hi);
  } else if constexpr (std::same_as<T, double>) {
    return number_schema(about.interval);
  } else if constexpr (std::same_as<T, Extents>) {
    return per_axis_schema(integer_schema(about.range.lo, about.range.hi));
  } else if constexpr (std::same_as<T, PerAxis<bool>>) {
    return per_axis_schema(plain_schema("boolean"));
  } else if constexpr (std::same_as<T, PerAxis<IntRange>>) {
    return per_axis_schema(list_schema(integer_schema(about.range.lo, about.range.hi)));
  } else if constexpr (std::same_as<T, SparsityRange>) {
    return list_schema(number_schema({0, 1}));
  } else if constexpr (std::same_as<T, std::vector<std::int64_t>>) {
    return list_schema(integer_schema(about.range.lo, about.range.hi));
  } else if constexpr (std::same_as<T, std::vector<std::string>>) {
    return list_schema(plain_schema("string"));
  } else if constexpr (requires { OptionValue<T>::choices(); }) {
    return choice_schema(about.choices.empty() ? OptionValue<T>::choices() : about.choices);
  } else if constexpr (kIsOptional<T>) {
    return schema_of<typename T::value_type>(about);
  } else {
    return choice_schema(about.choices);
  }
}

[[nodiscard]] Json member_schema(Json schema, bool may_be_null, const std::string& help);
/// Adds `key` to the properties of an object.
void put_member(Json& properties, const std::string& key, Json schema);
[[nodiscard]] Json object_schema(Json properties);

/// `help` with [default] replaced by what `write` writes. @throws std::logic_error when it writes nothing.
[[nodiscard]] std::string with_default(const std::string& help, const std::function<bool(Json&)>& write);

[[nodiscard]] std::string json_key(const std::string& flags, const About& about);

/// Sets `key` of `object` to what `write` writes. Where it returns false, `echo` decides.
void echo_value(const std::string& key, Echo echo, const std::function<bool(Json&)>& write, Json& object);

}  // namespace natten_sim::cli

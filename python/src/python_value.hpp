#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <natten_sim/core/attention_kernel.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/io/value_text.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/search/windows/search.hpp>
#include <natten_sim/study/setting.hpp>

namespace natten_sim::python {

namespace nb = nanobind;
using report::Json;

/// What a keyword accepts besides its type.
struct Accepts {
  std::int64_t lo = 1, hi = kMaxAxisLength;  ///< of integers, and of the elements of Extents
  double least = 0, most = 1;                ///< of numbers with a fraction
  std::string accepted = {};                 ///< what a message says of these; empty: the bounds
  bool factor = false;                       ///< a number may have an x behind it
  std::string choices = {};                  ///< of names, separated by spaces; empty: those of the type
};

/// @throws InvalidParameter naming the keyword, the value as Python prints it, and what is accepted.
[[noreturn]] void refuse(const std::string& name, nb::handle value, const std::string& accepted);

/// How a type of a question is read from a Python object, shown in a signature, and echoed as the program's
/// JSON:
///     static std::string hint();
///     static T read(const std::string& name, nb::handle value, const Accepts& accepts);
///     static bool write(const T& value, Json& out);  // false: it has no value
///     static constexpr const char* kAlso;  // optional: what docstrings say of it besides the help, ", as (lo, hi)"
///     using Echoed = std::string;          // optional: a type that is described as what write() gives
template <typename T>
struct PythonValue;

// The usual values of a type are taken as they are. All others are read from their words, as values of files and
// requests are (io/given_value.hpp): so "18x24x24", [18.0, "24", 24] and (18, 24, 24) are one window, and what is
// refused is refused in the words of the program.

/// @throws as words_of; InvalidParameter with `accepted` for an object that JSON has no kind for
[[nodiscard]] std::vector<std::string> words_of(const std::string& name, nb::handle value,
                                                const std::string& accepted);
/// @throws InvalidParameter also where there are several
[[nodiscard]] std::string word_of(const std::string& name, nb::handle value, const std::string& accepted);

[[nodiscard]] std::int64_t integer_of(const std::string& name, nb::handle value, std::int64_t lo,
                                      std::int64_t hi);
[[nodiscard]] double number_of(const std::string& name, nb::handle value, const Accepts& accepts);
[[nodiscard]] bool boolean_of(const std::string& name, nb::handle value);
[[nodiscard]] std::string text_of(const std::string& name, nb::handle value, const std::string& accepted);

/// What `accepts` leaves of a type, as docstrings say it: `1..2^24`. Empty where the type says everything.
template <typename T>
[[nodiscard]] std::string range_of(const Accepts& accepts);
/// Of integers and of fractions.
[[nodiscard]] std::string bounds_text(std::int64_t lo, std::int64_t hi);
[[nodiscard]] std::string bounds_text(double least, double most);

/// Calls `read` with each element of a sequence (not of a text). False if `value` is none.
bool for_each_element(nb::handle value, const std::function<void(nb::handle)>& read);

/// A Python object of the same value: dict, list, str, int of any size, float, bool, None.
[[nodiscard]] nb::object to_python(const Json& value);
/// The other way, for dicts, lists, texts and numbers.
[[nodiscard]] Json to_json_value(const std::string& name, nb::handle value);

template <>
struct PythonValue<bool> {
  static std::string hint() { return "bool"; }
  static bool read(const std::string& name, nb::handle value, const Accepts&) {
    return boolean_of(name, value);
  }
  static bool write(bool value, Json& out) {
    out = value;
    return true;
  }
};

template <std::integral T>
requires(!std::same_as<T, bool>) struct PythonValue<T> {
  static std::string hint() { return "typing.SupportsIndex"; }
  static T read(const std::string& name, nb::handle value, const Accepts& accepts) {
    std::int64_t hi = accepts.hi;
    if constexpr (sizeof(T) < 8) hi = std::min<std::int64_t>(hi, std::numeric_limits<T>::max());
    return static_cast<T>(integer_of(name, value, accepts.lo, hi));
  }
  static bool write(T value, Json& out) {
    out = value;
    return true;
  }
};

template <>
struct PythonValue<double> {
  static std::string hint() { return "float"; }
  static double read(const std::string& name, nb::handle value, const Accepts& accepts) {
    return number_of(name, value, accepts);
  }
  static bool write(double value, Json& out) {
    out = value;
    return true;
  }
};

template <>
struct PythonValue<std::string> {
  static std::string hint() { return "str"; }
  static std::string read(const std::string& name, nb::handle value, const Accepts& accepts) {
    std::string text = word_of(name, value, "a text");
    require_choice(name, text, accepts.choices);
    return text;
  }
  static bool write(const std::string& value, Json& out) {
    out = value;
    return true;
  }
};

template <Named E>
struct PythonValue<E> {
  static std::string hint() { return "typing.Literal['" + joined(names_of<E>(), "', '") + "']"; }
  static E read(const std::string& name, nb::handle value, const Accepts& accepts) {
    const std::string known = accepts.choices.empty() ? joined(names_of<E>(), " ") : accepts.choices;
    const std::string word = word_of(name, value, known);
    const std::optional<E> meant = named<E>(word);
    require_choice(name, meant ? to_string(*meant) : word, known);
    return parse_name<E>(word, name);
  }
  static bool write(E value, Json& out) {
    out = to_string(value);
    return true;
  }
};

/// A name, or a kernel file, which is read.
template <>
struct PythonValue<KernelChoice> {
  using Echoed = std::string;
  static std::string hint() { return "str | os.PathLike[str]"; }
  static KernelChoice read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const KernelChoice& value, Json& out) {
    out = natten_sim::to_string(value);
    return true;
  }
};

/// One size an axis; an integer stands for one axis.
template <>
struct PythonValue<Extents> {
  static std::string hint() {
    return "typing.SupportsIndex | collections.abc.Iterable[typing.SupportsIndex] | str";
  }
  static Extents read(const std::string& name, nb::handle value, const Accepts& accepts);
  static bool write(const Extents& value, Json& out) {
    out = report::to_json(value);
    return !value.empty();
  }
};

template <>
struct PythonValue<PerAxis<bool>> {
  static std::string hint() { return "bool | collections.abc.Iterable[bool]"; }
  static PerAxis<bool> read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const PerAxis<bool>& value, Json& out) {
    out = report::to_json(value);
    return !value.empty();
  }
};

/// (lo, hi), or one such pair an axis; or a text of these, LO:HI.
template <>
struct PythonValue<PerAxis<IntRange>> {
  using Echoed = std::vector<std::vector<std::int64_t>>;
  static constexpr const char* kAlso = ", as (lo, hi)";
  static std::string hint() {
    return "collections.abc.Iterable[typing.SupportsIndex] | "
           "collections.abc.Iterable[collections.abc.Iterable[typing.SupportsIndex]]";
  }
  static PerAxis<IntRange> read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const PerAxis<IntRange>& value, Json& out);
};

/// (lo, hi), fractions, or hi alone; or a text of these, LO:HI.
template <>
struct PythonValue<SparsityRange> {
  using Echoed = std::vector<double>;
  static constexpr const char* kAlso = ", as (lo, hi)";
  static std::string hint() { return "float | collections.abc.Iterable[float]"; }
  static SparsityRange read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const SparsityRange& value, Json& out) {
    out = {value.lo, value.hi};
    return true;
  }
};

/// (k, n) or "k/n".
template <>
struct PythonValue<study::StepRatio> {
  using Echoed = std::string;
  static std::string hint() { return "str | tuple[int, int]"; }
  static study::StepRatio read(const std::string& name, nb::handle value, const Accepts&);
  static bool write(const study::StepRatio& value, Json& out) {
    out = std::to_string(value.part) + "/" + std::to_string(value.whole);
    return true;
  }
};

template <typename T>
struct PythonValue<std::vector<T>> {
  static std::string hint() {
    return PythonValue<T>::hint() + " | collections.abc.Iterable[" + PythonValue<T>::hint() + "]";
  }
  static std::vector<T> read(const std::string& name, nb::handle value, const Accepts& accepts) {
    if constexpr (std::same_as<T, std::int64_t>) {
      if (PyUnicode_Check(value.ptr()))
        return parse_integers(name, {word_of(name, value, "integers")}, accepts.lo, accepts.hi);
    }
    std::vector<T> values;
    const bool several = for_each_element(
        value, [&](nb::handle element) { values.push_back(PythonValue<T>::read(name, element, accepts)); });
    if (!several) values.push_back(PythonValue<T>::read(name, value, accepts));
    return values;
  }
  static bool write(const std::vector<T>& values, Json& out) {
    out = Json::array();
    for (const T& value : values) {
      Json element;
      if (PythonValue<T>::write(value, element)) out.push_back(std::move(element));
    }
    return true;
  }
};

template <typename T>
struct PythonValue<std::optional<T>> {
  static std::string hint() { return PythonValue<T>::hint(); }
  static std::optional<T> read(const std::string& name, nb::handle value, const Accepts& accepts) {
    return PythonValue<T>::read(name, value, accepts);
  }
  static bool write(const std::optional<T>& value, Json& out) {
    return value && PythonValue<T>::write(*value, out);
  }
};

/// What write() gives is like one of these.
template <typename... Types>
struct AnyOf {};

/// JSON Schema of what PythonValue<T>::write() gives.
template <typename T>
struct EchoSchema {
  static Json of() {
    if constexpr (requires { typename PythonValue<T>::Echoed; }) {
      return EchoSchema<typename PythonValue<T>::Echoed>::of();
    } else {
      return report::schema_of<T>();
    }
  }
};
template <typename... Types>
struct EchoSchema<AnyOf<Types...>> {
  static Json of() { return {{"anyOf", Json::array({report::schema_of<Types>()...})}}; }
};
template <typename T>
requires(!requires { typename PythonValue<std::vector<T>>::Echoed; }) struct EchoSchema<std::vector<T>> {
  static Json of() { return {{"type", "array"}, {"items", EchoSchema<T>::of()}}; }
};
template <typename T>
requires(!requires { typename PythonValue<std::optional<T>>::Echoed; }) struct EchoSchema<std::optional<T>> {
  static Json of() { return EchoSchema<T>::of(); }
};

template <typename T>
inline constexpr bool holds_others = false;
template <typename T>
inline constexpr bool holds_others<std::optional<T>> = true;
template <typename T>
inline constexpr bool holds_others<std::vector<T>> = true;

template <typename T>
std::string range_of(const Accepts& accepts) {
  if constexpr (holds_others<T>) return range_of<typename T::value_type>(accepts);
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    std::int64_t hi = accepts.hi;
    if constexpr (sizeof(T) < 8) hi = std::min<std::int64_t>(hi, std::numeric_limits<T>::max());
    return bounds_text(accepts.lo, hi);
  }
  if constexpr (std::same_as<T, double>) return bounds_text(accepts.least, accepts.most);
  if constexpr (std::same_as<T, Extents>) return bounds_text(accepts.lo, accepts.hi) + " an axis";
  return "";
}

}  // namespace natten_sim::python

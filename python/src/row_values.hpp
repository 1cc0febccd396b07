#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python_value.hpp"

namespace natten_sim::python {

/// Values of one keyword for many problems, one a row, each of some 64-bit words: equal values have equal words. Read and
/// destroyed with the GIL, used without it.
class RowValues {
 public:
  /// The words of an array of 64-bit elements, (rows, width).
  RowValues(nb::object array, const std::int64_t* words, std::size_t rows, std::size_t width)
      : words_(words), rows_(rows), width_(width), array_(std::move(array)) {}
  virtual ~RowValues() = default;
  RowValues(const RowValues&) = delete;
  RowValues& operator=(const RowValues&) = delete;

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] const std::int64_t* words(std::size_t row) const { return words_ + row * width_; }
  /// Calls put with the address of the row's value, of the keyword's type. @throws InvalidParameter where it is none
  virtual void give(std::size_t row, const std::function<void(const void*)>& put) const = 0;

 private:
  const std::int64_t* words_;
  std::size_t rows_, width_;
  nb::object array_;
};

/// An array of numbers that a keyword of scalars (axes 1) or of sizes per axis (axes 2) was given; none: another value.
struct NumberRows {
  nb::object array;
  const std::int64_t* words = nullptr;
  std::size_t rows = 0, width = 1;
};
enum class NumberKind { kInteger, kReal };
[[nodiscard]] std::optional<NumberRows> number_rows(const std::string& name, nb::handle value, int axes, NumberKind kind);

/// The distinct texts of a list or array of texts, and the place of each row among them; none: another value.
struct TextRows {
  std::vector<std::string> texts;
  NumberRows places;
};
[[nodiscard]] std::optional<TextRows> text_rows(nb::handle value);

/// As a keyword of one value refuses it. @throws InvalidParameter
[[nodiscard]] std::int64_t integer_in_range(const std::string& name, std::int64_t value, const Accepts& accepts);
[[nodiscard]] double number_in_range(const std::string& name, double value, const Accepts& accepts);
[[nodiscard]] Extents sizes_in_range(const std::string& name, const std::int64_t* words, std::size_t width, const Accepts& accepts);
[[nodiscard]] PerAxis<bool> flags_of(const std::int64_t* words, std::size_t width);

template <typename T, typename Value>
class TypedRowValues final : public RowValues {
 public:
  TypedRowValues(const NumberRows& rows, Value value)
      : RowValues(rows.array, rows.words, rows.rows, rows.width), value_(std::move(value)) {}

  void give(std::size_t row, const std::function<void(const void*)>& put) const override {
    const T value = value_(words(row));
    put(&value);
  }

 private:
  Value value_;
};

template <typename T, typename Value>
std::unique_ptr<RowValues> typed_rows(const NumberRows& rows, Value value) {
  return std::make_unique<TypedRowValues<T, Value>>(rows, std::move(value));
}

template <typename T>
struct Unwrapped {
  using Type = T;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using Type = T;
};
template <typename T>
inline constexpr bool is_list = false;
template <typename T>
inline constexpr bool is_list<std::vector<T>> = true;

/// How signatures call arrays of a type: one value a row, or (rows, axes). Null: the keyword takes none.
template <typename T>
[[nodiscard]] constexpr const char* rows_hint() {
  using U = typename Unwrapped<T>::Type;
  if constexpr (is_list<U>) return nullptr;
  if constexpr (std::same_as<U, Extents> || std::same_as<U, PerAxis<bool>>) return "numpy.typing.ArrayLike";
  if constexpr (std::integral<U> || std::same_as<U, double>) return "numpy.typing.ArrayLike";
  return "collections.abc.Sequence[str]";
}

/// The values of a keyword of type T for many problems; null: the value is one, of all rows.
/// @throws InvalidParameter for arrays of another kind, and for texts that are none of its values, with their row
template <typename T>
[[nodiscard]] std::unique_ptr<RowValues> read_rows(const std::string& name, nb::handle value, const Accepts& accepts) {
  using U = typename Unwrapped<T>::Type;
  if constexpr (std::same_as<U, Extents>) {
    const auto rows = number_rows(name, value, 2, NumberKind::kInteger);
    return rows ? typed_rows<T>(*rows, [=, width = rows->width](const std::int64_t* words) {
      return T(sizes_in_range(name, words, width, accepts));
    }) : nullptr;
  } else if constexpr (std::same_as<U, PerAxis<bool>>) {
    const auto rows = number_rows(name, value, 2, NumberKind::kInteger);
    return rows ? typed_rows<T>(*rows, [width = rows->width](const std::int64_t* words) { return T(flags_of(words, width)); })
                : nullptr;
  } else if constexpr (std::same_as<U, bool>) {
    const auto rows = number_rows(name, value, 1, NumberKind::kInteger);
    return rows ? typed_rows<T>(*rows, [](const std::int64_t* words) { return T(*words != 0); }) : nullptr;
  } else if constexpr (std::integral<U>) {
    const auto rows = number_rows(name, value, 1, NumberKind::kInteger);
    Accepts range = accepts;
    if constexpr (sizeof(U) < 8) range.hi = std::min<std::int64_t>(range.hi, std::numeric_limits<U>::max());
    return rows ? typed_rows<T>(*rows, [=](const std::int64_t* words) {
      return T(static_cast<U>(integer_in_range(name, *words, range)));
    }) : nullptr;
  } else if constexpr (std::same_as<U, double>) {
    const auto rows = number_rows(name, value, 1, NumberKind::kReal);
    return rows ? typed_rows<T>(*rows, [=](const std::int64_t* words) {
      return T(number_in_range(name, std::bit_cast<double>(*words), accepts));
    }) : nullptr;
  } else if constexpr (!is_list<U>) {
    const std::optional<TextRows> rows = text_rows(value);
    if (!rows) return nullptr;
    std::vector<T> known;
    for (const std::string& text : rows->texts) known.push_back(PythonValue<T>::read(name, nb::str(text.c_str()), accepts));
    return typed_rows<T>(rows->places, [known = std::move(known)](const std::int64_t* words) {
      return known[static_cast<std::size_t>(*words)];
    });
  } else {
    return nullptr;
  }
}

/// The rows that have the same words in all columns.
struct RowGroups {
  std::vector<std::uint32_t> of_row;     ///< empty: all rows are of group 0
  std::vector<std::size_t> first_rows;  ///< of each group, ascending
};
/// @throws InvalidParameter for 2^32 rows or more
[[nodiscard]] RowGroups group_rows(const std::vector<const RowValues*>& columns, std::size_t rows);

}  // namespace natten_sim::python

#include "row_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <natten_sim/core/error.hpp>

namespace natten_sim::python {
namespace {

template <typename T, int kAxes>
using Matrix = nb::ndarray<nb::ro, const T, nb::ndim<kAxes>, nb::c_contig, nb::device::cpu>;

/// NumPy's array of a list, tuple or array; none: something else, or one of another number of axes.
std::optional<nb::object> numpy_array(nb::handle value, int axes) {
  if (PyUnicode_Check(value.ptr()) || PyNumber_Check(value.ptr()) == 0) {
    if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) return std::nullopt;
  }
  if (PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr())) return std::nullopt;
  if ((PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) && PySequence_Size(value.ptr()) > 0 && axes == 2) {
    const nb::object first = nb::steal(PySequence_GetItem(value.ptr(), 0));
    if (PyUnicode_Check(first.ptr()) || PySequence_Check(first.ptr()) == 0) return std::nullopt;
  }
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("ascontiguousarray")(value);
  const int found = nb::cast<int>(nb::object(numpy.attr("asarray")(value).attr("ndim")));
  if (found != axes) return std::nullopt;
  return array;
}

std::string kind_of(const nb::object& array) { return nb::cast<std::string>(nb::str(array.attr("dtype").attr("kind"))); }

}  // namespace

std::optional<NumberRows> number_rows(const std::string& name, nb::handle value, int axes, NumberKind kind) {
  const std::optional<nb::object> array = numpy_array(value, axes);
  if (!array) return std::nullopt;
  const bool real = kind == NumberKind::kReal;
  const std::string is = kind_of(*array);
  const bool empty = nb::cast<std::size_t>(nb::object(array->attr("size"))) == 0;
  if (std::string_view(real ? "iubf" : "iub").find(is[0]) == std::string_view::npos && !empty)
    refuse(name, value, real ? "numbers" : "integers");
  NumberRows rows;
  rows.array = array->attr("astype")(real ? "float64" : "int64", nb::arg("copy") = false);
  if (axes == 2) {
    const auto matrix = nb::cast<Matrix<std::int64_t, 2>>(rows.array);
    rows.words = matrix.data();
    rows.rows = matrix.shape(0);
    rows.width = matrix.shape(1);
  } else {
    rows.array = rows.array.attr("view")("int64");
    const auto column = nb::cast<Matrix<std::int64_t, 1>>(rows.array);
    rows.words = column.data();
    rows.rows = column.shape(0);
  }
  if (rows.rows == 0) refuse(name, value, "one row or more");
  return rows;
}

std::optional<TextRows> text_rows(nb::handle value) {
  const std::optional<nb::object> array = numpy_array(value, 1);
  if (!array) return std::nullopt;
  const std::string kind = kind_of(*array);
  if (kind != "U" && kind != "O") return std::nullopt;
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::list words(array->attr("tolist")());
  TextRows rows;
  std::unordered_map<std::string, std::int64_t> known;
  nb::list places;
  for (const nb::handle word : words) {
    if (!PyUnicode_Check(word.ptr())) return std::nullopt;
    const std::string text = nb::cast<std::string>(word);
    const auto [entry, is_new] = known.emplace(text, static_cast<std::int64_t>(known.size()));
    if (is_new) rows.texts.push_back(text);
    places.append(entry->second);
  }
  const nb::object numbers = numpy.attr("array")(places, nb::arg("dtype") = "int64");
  const auto column = nb::cast<Matrix<std::int64_t, 1>>(numbers);
  rows.places = {numbers, column.data(), column.shape(0), 1};
  return rows.places.rows == 0 ? std::nullopt : std::optional(rows);
}

std::int64_t integer_in_range(const std::string& name, std::int64_t value, const Accepts& accepts) {
  if (value < accepts.lo || value > accepts.hi)
    throw InvalidParameter(name, std::to_string(value),
                           "integers in " + std::to_string(accepts.lo) + ".." + std::to_string(accepts.hi));
  return value;
}

double number_in_range(const std::string& name, double value, const Accepts& accepts) {
  if (!(value >= accepts.least && value <= accepts.most))
    throw InvalidParameter(name, Json(value).dump(),
                           accepts.accepted.empty()
                               ? "a number in " + Json(accepts.least).dump() + ".." + Json(accepts.most).dump()
                               : accepts.accepted);
  return value;
}

Extents sizes_in_range(const std::string& name, const std::int64_t* words, std::size_t width, const Accepts& accepts) {
  Extents sizes;
  for (std::size_t axis = 0; axis < width; ++axis) sizes.push_back(integer_in_range(name, words[axis], accepts));
  return sizes;
}

PerAxis<bool> flags_of(const std::int64_t* words, std::size_t width) {
  PerAxis<bool> flags;
  for (std::size_t axis = 0; axis < width; ++axis) flags.push_back(words[axis] != 0);
  return flags;
}

RowGroups group_rows(const std::vector<const RowValues*>& columns, std::size_t rows) {
  if (rows > std::numeric_limits<std::uint32_t>::max())
    throw InvalidParameter("rows", std::to_string(rows), "fewer than 2^32 rows");
  if (columns.empty()) return {{}, {0}};
  RowGroups groups;
  groups.of_row.resize(rows);
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::all_of(columns.begin(), columns.end(), [&](const RowValues* column) {
      return std::equal(column->words(a), column->words(a) + column->width(), column->words(b));
    });
  };
  const auto hash_of = [&](std::size_t row) {
    std::uint64_t hash = 0;
    for (const RowValues* column : columns) {
      for (std::size_t word = 0; word < column->width(); ++word) {
        hash = (hash ^ static_cast<std::uint64_t>(column->words(row)[word])) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
      }
    }
    return hash;
  };
  // Open addressing, at most half full.
  constexpr std::uint32_t kFree = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> places(64, kFree);
  const auto place_of = [&](std::size_t row) {
    std::size_t place = hash_of(row) & (places.size() - 1);
    while (places[place] != kFree && !same(row, groups.first_rows[places[place]])) place = (place + 1) & (places.size() - 1);
    return place;
  };
  for (std::size_t row = 0; row < rows; ++row) {
    std::size_t place = place_of(row);
    if (places[place] == kFree) {
      groups.first_rows.push_back(row);
      places[place] = static_cast<std::uint32_t>(groups.first_rows.size() - 1);
      if (2 * groups.first_rows.size() > places.size()) {
        places.assign(2 * places.size(), kFree);
        for (std::size_t group = 0; group < groups.first_rows.size(); ++group)
          places[place_of(groups.first_rows[group])] = static_cast<std::uint32_t>(group);
      }
      groups.of_row[row] = static_cast<std::uint32_t>(groups.first_rows.size() - 1);
    } else {
      groups.of_row[row] = places[place];
    }
  }
  return groups;
}

}  // namespace natten_sim::python

#include "python_value.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <stdexcept>

#include <nanobind/stl/string.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/value_text.hpp>

#include "keywords.hpp"

namespace natten_sim::python {
namespace {

std::string repr_of(nb::handle value) { return nb::cast<std::string>(nb::str(nb::repr(value))); }

/// An integer of any size: Python's own parser reads its digits.
nb::object big_integer(const std::string& digits) {
  return nb::steal(PyLong_FromString(digits.c_str(), nullptr, 10));
}

std::string range_text(std::int64_t lo, std::int64_t hi) {
  return "integers in " + std::to_string(lo) + ".." + std::to_string(hi);
}

/// What is wrong with an integer, in the words of the program.
[[noreturn]] void refuse_integer(const std::string& name, nb::handle index, std::int64_t lo, std::int64_t hi) {
  (void)parse_integer(name, nb::cast<std::string>(nb::str(index)), lo, hi);
  throw std::logic_error("an integer in its range was refused");
}

}  // namespace

void refuse(const std::string& name, nb::handle value, const std::string& accepted) {
  throw InvalidParameter(name, repr_of(value), accepted);
}

std::int64_t integer_of(const std::string& name, nb::handle value, std::int64_t lo, std::int64_t hi) {
  if (PyBool_Check(value.ptr())) refuse(name, value, range_text(lo, hi));
  nb::object index = nb::steal(PyNumber_Index(value.ptr()));  // NumPy's integers have one too
  if (!index.is_valid()) {
    PyErr_Clear();
    refuse(name, value, range_text(lo, hi));
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || number < lo || number > hi) refuse_integer(name, index, lo, hi);
  return number;
}

double number_of(const std::string& name, nb::handle value, const Accepts& accepts) {
  const auto wrong = [&] {
    Json least = accepts.least, most = accepts.most;
    refuse(name, value, "a number in " + least.dump() + ".." + most.dump());
  };
  if (PyBool_Check(value.ptr()) || PyUnicode_Check(value.ptr())) wrong();
  double number = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    wrong();
  }
  if (is_share_interval(accepts.least, accepts.most)) number = share_of_number(number);
  if (!(number >= accepts.least && number <= accepts.most)) wrong();
  return number;
}

bool boolean_of(const std::string& name, nb::handle value) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (nb::hasattr(value.type(), "__bool__") && nb::hasattr(value, "dtype"))  // a NumPy boolean
    return PyObject_IsTrue(value.ptr()) == 1;
  for (const long one : {0L, 1L}) {
    if (PyLong_Check(value.ptr()) && nb::int_(one).equal(value)) return one == 1;
  }
  refuse(name, value, "True, False, 1 or 0");
}

std::string text_of(const std::string& name, nb::handle value, const std::string& accepted) {
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  const nb::object fspath = nb::getattr(value, "__fspath__", nb::none());
  if (fspath.is_none()) refuse(name, value, accepted);
  return nb::cast<std::string>(nb::str(fspath()));
}

bool for_each_element(nb::handle value, const std::function<void(nb::handle)>& read) {
  if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr()) || PyDict_Check(value.ptr()) ||
      !nb::hasattr(value, "__len__") || !nb::hasattr(value, "__iter__"))
    return false;
  for (nb::handle element : nb::iter(value)) read(element);
  return true;
}

Extents PythonValue<Extents>::read(const std::string& name, nb::handle value, const Accepts& accepts) {
  if (PyUnicode_Check(value.ptr()))
    return parse_extents(name, {nb::cast<std::string>(value)}, accepts.lo, accepts.hi);
  if (nb::hasattr(value, "__len__")) require_axes(name, nb::len(value));
  const auto append = [&](Extents& extents, nb::handle element) {
    if (extents.rank() == kMaxRank) refuse(name, value, "1 to 4 values, one an axis");
    extents.push_back(integer_of(name, element, accepts.lo, accepts.hi));
  };
  Extents extents;
  if (PyTuple_CheckExact(value.ptr())) {  // the usual case, without an iterator
    for (Py_ssize_t axis = 0; axis < PyTuple_Size(value.ptr()); ++axis)
      append(extents, PyTuple_GetItem(value.ptr(), axis));
  } else if (!for_each_element(value, [&](nb::handle element) { append(extents, element); })) {
    append(extents, value);
  }
  if (extents.empty()) refuse(name, value, "1 to 4 values, one an axis");
  return extents;
}

PerAxis<bool> PythonValue<PerAxis<bool>>::read(const std::string& name, nb::handle value, const Accepts&) {
  PerAxis<bool> values;
  const bool several = for_each_element(value, [&](nb::handle element) {
    if (values.rank() == kMaxRank) refuse(name, value, "1 to 4 values, one an axis");
    values.push_back(boolean_of(name, element));
  });
  if (!several) values.push_back(boolean_of(name, value));
  if (values.empty()) refuse(name, value, "1 to 4 values, one an axis");
  return values;
}

PerAxis<IntRange> PythonValue<PerAxis<IntRange>>::read(const std::string& name, nb::handle value,
                                                       const Accepts&) {
  const char* accepted = "(lo, hi) with 1 <= lo <= hi, or one such pair an axis";
  std::vector<nb::object> elements;
  const auto keep = [&](nb::handle element) { elements.push_back(nb::borrow(element)); };
  if (!for_each_element(value, keep) || elements.empty()) refuse(name, value, accepted);
  if (nb::isinstance<nb::int_>(elements.front())) elements = {nb::borrow(value)};
  PerAxis<IntRange> ranges;
  for (const nb::object& pair : elements) {
    Extents ends = PythonValue<Extents>::read(name, pair, {});
    if (ends.rank() != 2 || ends[0] > ends[1] || ranges.rank() == kMaxRank) refuse(name, value, accepted);
    ranges.push_back({ends[0], ends[1]});
  }
  return ranges;
}

bool PythonValue<PerAxis<IntRange>>::write(const PerAxis<IntRange>& value, Json& out) {
  out = Json::array();
  for (const IntRange& range : value) out.push_back({range.lo, range.hi});
  return !value.empty();
}

SparsityRange PythonValue<SparsityRange>::read(const std::string& name, nb::handle value, const Accepts&) {
  const char* accepted = "(lo, hi) with 0 <= lo <= hi <= 1, both included, or hi";
  if (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr()))
    return {0, share_of_number(number_of(name, value, {.least = 0, .most = 100}))};
  std::vector<double> ends;
  const auto read_end = [&](nb::handle element) {
    ends.push_back(number_of(name, element, {.least = 0, .most = 100}));
  };
  if (!for_each_element(value, read_end) || ends.size() != 2) refuse(name, value, accepted);
  // (1, 5) may mean 1% to 5%, and (0.5, 90) half a per cent; zero is the same in both.
  if ((ends[0] > 1) != (ends[1] > 1) && ends[0] > 0) refuse(name, value, "two fractions, or two in per cent");
  const SparsityRange range{share_of_number(ends[0]), share_of_number(ends[1])};
  if (range.lo > range.hi) refuse(name, value, accepted);
  return range;
}

study::StepRatio PythonValue<study::StepRatio>::read(const std::string& name, nb::handle value,
                                                     const Accepts&) {
  const char* accepted = "\"k/n\" or (k, n) with 0 <= k <= n, n of 1 or more";
  std::vector<std::int64_t> parts;
  if (PyUnicode_Check(value.ptr())) {
    const std::vector<std::string> texts = split_text(nb::cast<std::string>(value), '/');
    if (texts.size() != 2) refuse(name, value, accepted);
    for (const std::string& text : texts) parts.push_back(parse_integer(name, text, 0, kMaxAxisLength));
  } else if (!for_each_element(value, [&](nb::handle element) {
               parts.push_back(integer_of(name, element, 0, kMaxAxisLength));
             })) {
    refuse(name, value, accepted);
  }
  if (parts.size() != 2 || parts[1] < 1 || parts[0] > parts[1]) refuse(name, value, accepted);
  return {parts[0], parts[1]};
}

nb::object to_python(const Json& value) {
  if (value.is_object()) {
    nb::dict object;
    for (const auto& [key, member] : value.items())
      object[nb::str(key.c_str(), key.size())] = to_python(member);
    return object;
  }
  if (value.is_array()) {
    nb::list array;
    for (const Json& element : value) array.append(to_python(element));
    return array;
  }
  if (value.is_string()) return nb::cast(value.text());
  if (value.is_boolean()) return nb::bool_(value.get<bool>());
  if (value.is_number_unsigned()) return nb::int_(value.get<std::uint64_t>());
  if (value.is_number_integer()) return nb::int_(value.get<std::int64_t>());
  // As JSON has it: what is not finite is null.
  if (value.is_number_float() && std::isfinite(value.get<double>())) return nb::float_(value.get<double>());
  if (value.is_digits()) return big_integer(value.digits());
  return nb::none();
}

Json to_json_value(const std::string& name, nb::handle value) {
  if (value.is_none()) return nullptr;
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (PyLong_Check(value.ptr()) || (PyIndex_Check(value.ptr()) && !nb::hasattr(value, "__len__")))
    return integer_of(name, value, std::numeric_limits<std::int64_t>::min(), INT64_MAX);
  if (PyFloat_Check(value.ptr())) return PyFloat_AsDouble(value.ptr());
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (PyDict_Check(value.ptr())) {
    Json object = Json::object();
    for (const auto& [key, member] : nb::borrow<nb::dict>(value))
      object[text_of(name, key, "keys that are texts")] = to_json_value(name, member);
    return object;
  }
  Json array = Json::array();
  if (!for_each_element(value, [&](nb::handle element) { array.push_back(to_json_value(name, element)); }))
    refuse(name, value, "dicts, lists, texts and numbers");
  return array;
}

std::string bounds_text(std::int64_t lo, std::int64_t hi) {
  const auto text = [](std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    if (value < (std::int64_t{1} << 16)) return std::to_string(value);
    if (std::has_single_bit(bits)) return "2^" + std::to_string(std::countr_zero(bits));
    if (std::has_single_bit(bits + 1)) return "2^" + std::to_string(std::countr_zero(bits + 1)) + "-1";
    return std::to_string(value);
  };
  return text(lo) + ".." + text(hi);
}

std::string bounds_text(double least, double most) {
  return Json(least).dump() + ".." + Json(most).dump();
}

std::string with_range(const std::string& doc, const std::string& range) {
  if (range.empty() || doc.empty() || doc.find("..") != std::string::npos) return doc;
  return study::before_default(doc, ", " + range);
}

std::string with_default(const std::string& doc, const std::function<bool(Json&)>& write) {
  constexpr std::string_view kPlace = "[default]";
  const std::size_t place = doc.find(kPlace);
  if (place == std::string::npos) return doc;
  Json value;
  if (!write(value)) throw std::logic_error("a keyword without a default has [default] in its text: " + doc);
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (value == Json(true)) text = "True";
  if (value == Json(false)) text = "False";
  if (value.is_number_float() && text.ends_with(".0")) text.resize(text.size() - 2);
  return doc.substr(0, place) + "[" + text + "]" + doc.substr(place + kPlace.size());
}

}  // namespace natten_sim::python

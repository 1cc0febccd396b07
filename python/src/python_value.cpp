#include "python_value.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <stdexcept>

#include <nanobind/stl/string.h>

#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/given_value.hpp>
#include <natten_sim/study/describe/range_text.hpp>

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

/// None: no whole number, or one out of its range.
std::optional<std::int64_t> usual_integer(nb::handle value, std::int64_t lo, std::int64_t hi) {
  if (PyBool_Check(value.ptr()) || PyUnicode_Check(value.ptr())) return std::nullopt;
  nb::object index = nb::steal(PyNumber_Index(value.ptr()));  // NumPy's integers have one too
  if (!index.is_valid()) {
    PyErr_Clear();
    return std::nullopt;
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || number < lo || number > hi) return std::nullopt;
  return number;
}

std::optional<bool> usual_boolean(nb::handle value) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (!nb::hasattr(value, "dtype") || nb::hasattr(value, "__len__")) return std::nullopt;
  const nb::object kind = nb::getattr(value.attr("dtype"), "kind", nb::none());  // of a NumPy boolean "b"
  if (!PyUnicode_Check(kind.ptr()) || nb::cast<std::string>(kind) != "b") return std::nullopt;
  return PyObject_IsTrue(value.ptr()) == 1;
}

/// As JSON would have it; none: JSON has no such kind.
std::optional<Json> scalar_of(nb::handle value) {
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (const std::optional<bool> boolean = usual_boolean(value)) return *boolean;
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (index.is_valid()) return nb::cast<std::string>(nb::str(index));  // of any size
  PyErr_Clear();
  const double number = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  const nb::object fspath = nb::getattr(value, "__fspath__", nb::none());
  if (fspath.is_none()) return std::nullopt;
  return nb::cast<std::string>(nb::str(fspath()));
}

/// The same of a sequence too, and of pairs in it.
std::optional<Json> given_value(nb::handle value, int depth = 0) {
  constexpr int kPairs = 2;
  if (depth < kPairs) {
    Json array = Json::array();
    bool known = true;
    const bool several = for_each_element(value, [&](nb::handle element) {
      const std::optional<Json> one = given_value(element, depth + 1);
      known = known && one.has_value();
      if (known) array.push_back(*one);
    });
    if (several) return known ? std::optional(array) : std::nullopt;
  }
  return scalar_of(value);
}

bool take_sizes(nb::handle value, const Accepts& accepts, Extents& sizes) {
  const auto take = [&](nb::handle element) {
    const std::optional<std::int64_t> size = usual_integer(element, accepts.lo, accepts.hi);
    if (!size || sizes.rank() == kMaxRank) return false;
    sizes.push_back(*size);
    return true;
  };
  if (PyTuple_CheckExact(value.ptr())) {  // the usual case, without an iterator
    for (Py_ssize_t axis = 0; axis < PyTuple_Size(value.ptr()); ++axis) {
      if (!take(PyTuple_GetItem(value.ptr(), axis))) return false;
    }
    return !sizes.empty();
  }
  bool all = true;
  const bool several = for_each_element(value, [&](nb::handle element) { all = all && take(element); });
  return (several ? all : take(value)) && !sizes.empty();
}

}  // namespace

void refuse(const std::string& name, nb::handle value, const std::string& accepted) {
  throw InvalidParameter(name, repr_of(value), accepted);
}

std::vector<std::string> words_of(const std::string& name, nb::handle value, const std::string& accepted) {
  const std::optional<Json> given = given_value(value);
  if (!given) refuse(name, value, accepted);
  return natten_sim::words_of(name, *given);
}

std::string word_of(const std::string& name, nb::handle value, const std::string& accepted) {
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  const std::optional<Json> given = given_value(value);
  if (!given) refuse(name, value, accepted);
  return natten_sim::word_of(name, *given);
}

std::int64_t integer_of(const std::string& name, nb::handle value, std::int64_t lo, std::int64_t hi) {
  if (const std::optional<std::int64_t> usual = usual_integer(value, lo, hi)) return *usual;
  return parse_whole_number(name, word_of(name, value, range_text(lo, hi)), lo, hi);
}

double number_of(const std::string& name, nb::handle value, const Accepts& accepts) {
  const bool share = is_share_interval(accepts.least, accepts.most);
  if (PyFloat_Check(value.ptr()) || PyLong_CheckExact(value.ptr())) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred() != nullptr) PyErr_Clear();  // an integer that is too large
    else if (number >= accepts.least && number <= (share ? 100 : accepts.most))
      return share ? share_of_number(number) : number;
  }
  const std::string accepted = accepts.accepted.empty()
                                   ? "a number in " + Json(accepts.least).dump() + ".." + Json(accepts.most).dump()
                                   : accepts.accepted;
  const std::string word = word_of(name, value, accepted);
  if (share) return parse_share(name, word, accepted);
  return (accepts.factor ? parse_factor : parse_number)(name, word, accepts.least, accepts.most, accepted);
}

bool boolean_of(const std::string& name, nb::handle value) {
  if (const std::optional<bool> usual = usual_boolean(value)) return *usual;
  return parse_boolean(name, word_of(name, value, "true, false, 1 or 0"));
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

KernelChoice PythonValue<KernelChoice>::read(const std::string& name, nb::handle value, const Accepts&) {
  return parse_kernel_choice(name, text_of(name, value, "the name of a kernel, or a kernel file"));
}

Extents PythonValue<Extents>::read(const std::string& name, nb::handle value, const Accepts& accepts) {
  Extents sizes;
  if (take_sizes(value, accepts, sizes)) return sizes;
  return parse_extents(name, words_of(name, value, "1 to 4 values, one an axis"), accepts.lo, accepts.hi);
}

PerAxis<bool> PythonValue<PerAxis<bool>>::read(const std::string& name, nb::handle value, const Accepts&) {
  if (const std::optional<bool> usual = usual_boolean(value)) return {*usual};
  return parse_booleans(name, words_of(name, value, "1 to 4 values, one an axis"));
}

PerAxis<IntRange> PythonValue<PerAxis<IntRange>>::read(const std::string& name, nb::handle value,
                                                       const Accepts&) {
  return study::parse_ranges(name, words_of(name, value, "(lo, hi), or one such pair an axis"));
}

bool PythonValue<PerAxis<IntRange>>::write(const PerAxis<IntRange>& value, Json& out) {
  out = Json::array();
  for (const IntRange& range : value) out.push_back({range.lo, range.hi});
  return !value.empty();
}

SparsityRange PythonValue<SparsityRange>::read(const std::string& name, nb::handle value, const Accepts&) {
  return study::parse_shares(name, words_of(name, value, "(lo, hi), both included, or hi"));
}

study::StepRatio PythonValue<study::StepRatio>::read(const std::string& name, nb::handle value,
                                                     const Accepts&) {
  constexpr const char* kAccepted = "K/N with 0 <= K <= N, N of 1 or more";
  std::vector<std::string> words = words_of(name, value, kAccepted);
  if (words.size() == 2) words = {words[0] + "/" + words[1]};
  if (words.size() != 1) throw InvalidParameter(name, std::to_string(words.size()) + " values", "one value");
  const auto [part, whole] = parse_ratio(name, words.front(), 0, kAccepted);
  return {part, whole};
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

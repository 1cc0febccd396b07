#include "answer.hpp"

#include <algorithm>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/version.hpp>

#include "python_value.hpp"

namespace natten_sim::python {
namespace {

/// A function of the package's Python part.
nb::object python_part(const char* module, const char* name) {
  return nb::module_::import_(module).attr(name);
}

/// Libraries write some names with dashes, as options have them; keywords have underscores.
std::string keyword_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name.starts_with("__") ? name.substr(2) : name;
}

nb::object attribute(Answer& self, nb::str name) {
  // Notebooks ask every object for _repr_png_ and the like: that must not cost a whole result.
  if (std::string_view(name.c_str()).starts_with("_")) {
    throw nb::attribute_error(name.c_str());
  }
  return nb::getattr(self.fields(), name);
}

/// Asks again where it is unpickled: a function's name, its keywords, and what the answer has to be.
nb::tuple reduced(const Answer& self) {
  if (self.has_own_catalog())
    throw nb::type_error("an answer of a Catalog of its own cannot be pickled; its to_dict() can");
  nb::dict keywords;
  for (const auto& [name, value] : self.keywords()) {
    const std::string_view keyword = nb::borrow<nb::str>(name).c_str();
    if (keyword != "progress" && keyword != "catalog") keywords[name] = value;
  }
  return nb::make_tuple(python_part("natten_sim._record", "asked_again"),
                        nb::make_tuple(self.function(), keywords, self.json()));
}

nb::list attribute_names(nb::handle self) {
  nb::list names(nb::module_::import_("builtins").attr("object").attr("__dir__")(self));
  const nb::object members = nb::steal(PyObject_Dir(nb::cast<Answer&>(self).fields().ptr()));
  for (nb::handle name : members) names.append(name);
  return names;
}

}  // namespace

std::string Answer::json() const { return report::envelope(schema(), input(), result()); }

nb::object frozen(const Json& value) { return python_part("natten_sim._record", "frozen")(to_python(value)); }

nb::object Answer::fields() {
  if (!fields_.is_valid()) fields_ = frozen(result());
  return fields_;
}

nb::object Answer::conclusion() {
  if (!conclusion_.is_valid()) {
    std::optional<report::Closing> found;
    {
      nb::gil_scoped_release released;
      found = closing();
    }
    conclusion_ = found ? frozen(report::closing_fields(*found)) : nb::none();
  }
  return conclusion_;
}

void translate_error(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const nb::object type = python_part("natten_sim._error", "Error");
    const std::string keyword = keyword_name(error.parameter());
    std::string sentence = error.sentence("");
    if (sentence.starts_with(error.parameter())) sentence.replace(0, error.parameter().size(), keyword);
    if (!error.hint().empty()) sentence += "; nearest: " + error.hint();
    const nb::object raised = type(sentence, keyword, error.value(), error.accepted(), error.hint());
    PyErr_SetObject(type.ptr(), raised.ptr());
  }
}

void bind_answers(nb::module_& module) {
  nb::register_exception_translator(translate_error);
  nb::class_<Answer> type(
      module, "Answer",
      "What a function of this package answered. The members of the result are attributes, "
      "which cannot be\nset; the whole object is what the program prints with --json, without\n"
      "its conclusion.");
  type.attr("__match_args__") = nb::make_tuple("input", "result");
  type.def(
          "to_dict", [](const Answer& self) { return python_part("json", "loads")(self.json()); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"),
          "The program's JSON object as plain dicts and lists.\n\n"
          "Returns:\n"
          "    `schema`, `version`, `input` (with every default filled in) and `result`; units are in the "
          "names "
          "of members.")
      .def("to_json", &Answer::json,
           "The same as text.\n\n"
           "Returns:\n"
           "    What the program prints with --json and --no-conclusion, to the byte.")
      .def("to_csv", &Answer::csv,
           "The program's tidy table.\n\n"
           "Returns:\n"
           "    CSV text with a header: what the program prints with --csv.")
      .def(
          "to_frame", [](nb::handle self) { return python_part("natten_sim._frame", "frame")(self); },
          nb::sig("def to_frame(self) -> typing.Any"),
          "The tidy table as a DataFrame.\n\n"
          "Returns:\n"
          "    A pandas.DataFrame, or a polars.DataFrame if pandas is absent: columns as in to_csv().\n\n"
          "Raises:\n"
          "    ImportError: Neither is installed.")
      .def(
          "to_arrow", [](nb::handle self) { return python_part("natten_sim._frame", "arrow")(self); },
          nb::sig("def to_arrow(self) -> typing.Any"),
          "The tidy table with a type a column: whole numbers, numbers, text, truth values, lists of whole numbers "
          "for shapes.\n\n"
          "Returns:\n"
          "    A pyarrow.Table.\n\n"
          "Raises:\n"
          "    ImportError: pyarrow is absent.")
      .def(
          "to_pandas", [](nb::handle self) { return python_part("natten_sim._frame", "to_pandas")(self); },
          nb::sig("def to_pandas(self) -> typing.Any"),
          "The same for pandas.\n\n"
          "Returns:\n"
          "    A pandas.DataFrame; whole numbers that may be absent are Int64.\n\n"
          "Raises:\n"
          "    ImportError: pandas is absent.")
      .def(
          "to_polars", [](nb::handle self) { return python_part("natten_sim._frame", "to_polars")(self); },
          nb::sig("def to_polars(self) -> typing.Any"),
          "The same for polars.\n\n"
          "Returns:\n"
          "    A polars.DataFrame.\n\n"
          "Raises:\n"
          "    ImportError: polars is absent.")
      .def("svg", &Answer::svg, nb::arg("picture") = nb::none(),
           nb::sig("def svg(self, picture: str | None = None) -> str"),
           "A picture as an SVG document.\n\n"
           "Args:\n"
           "    picture: Its name, one of `pictures` [the first].\n\n"
           "Returns:\n"
           "    The text of the document; lengths are pixels.\n\n"
           "Raises:\n"
           "    Error: There is nothing to draw, or too much, or no picture of that name.")
      .def_prop_ro(
          "pictures",
          [](const Answer& self) {
            nb::list names;
            for (const std::string& name : self.pictures()) names.append(name);
            return nb::tuple(names);
          },
          nb::for_getter(nb::sig("def pictures(self) -> tuple[str, ...]")),
          "Names of the pictures that svg() draws of this answer.")
      .def_prop_ro(
          "input", [](const Answer& self) { return frozen(self.input()); },
          nb::for_getter(nb::sig("def input(self) -> natten_sim._record.Record")),
          "Every keyword after defaults, so that the input alone reproduces the answer.")
      .def_prop_ro(
          "result", [](Answer& self) { return self.fields(); },
          nb::for_getter(nb::sig("def result(self) -> natten_sim._record.Record")),
          "All members of the result: a record.")
      .def_prop_ro(
          "conclusion", [](Answer& self) { return self.conclusion(); },
          nb::for_getter(nb::sig("def conclusion(self) -> natten_sim._record.Record | None")),
          "What it comes down to: `sentence`, and its parts `limit` (what limits it), `change` (what to "
          "change "
          "first),\n`options` (the change by names of `input`), `gain` (before over after) and `certainty`. "
          "It "
          "asks the model about\nother choices, once, when it is read first; None where there is nothing to "
          "conclude.")
      .def("__getattr__", attribute, nb::sig("def __getattr__(self, name: str) -> typing.Any"))
      .def("__dir__", attribute_names, nb::sig("def __dir__(self) -> list[str]"))
      .def("__str__", &Answer::text)
      .def(
          "__repr__", [](nb::handle self) { return python_part("natten_sim._record", "summary")(self); },
          nb::sig("def __repr__(self) -> str"))
      .def(
          "__eq__",
          [](const Answer& self, nb::handle other) {
            return nb::isinstance<Answer>(other) && self.json() == nb::cast<const Answer&>(other).json();
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__reduce__", reduced, nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def(
          "__copy__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __copy__(self) -> typing.Self"))
      .def(
          "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); },
          nb::sig("def __deepcopy__(self, memo: typing.Any, /) -> typing.Self"))
      .def("__hash__", [](const Answer& self) { return nb::hash(nb::cast(self.json())); })
      .def(
          "_repr_html_", [](nb::handle self) { return python_part("natten_sim._html", "page")(self); },
          nb::sig("def _repr_html_(self) -> str"))
      .def(
          "_repr_svg_", [](nb::handle self) { return python_part("natten_sim._html", "picture")(self); },
          nb::sig("def _repr_svg_(self) -> str | None"));
}

}  // namespace natten_sim::python

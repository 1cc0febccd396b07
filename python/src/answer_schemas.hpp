#pragma once

#include <functional>
#include <string>

#include <nanobind/nanobind.h>

#include <natten_sim/report/json.hpp>

namespace natten_sim::python {

/// Answers of this type have `input` and `result` of these JSON Schemas, which are made when they are asked for.
void describe_answer(const std::string& type, std::function<report::Json()> input, report::Json (*result)());

/// Registers natten_sim._core._answer_schemas(), from which the types of members in _members.pyi are written.
void bind_answer_schemas(nanobind::module_& module);

}  // namespace natten_sim::python

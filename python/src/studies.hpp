#pragma once

#include <vector>

#include <nanobind/nanobind.h>

namespace natten_sim::python {

/// Registers a function of the package and the type of its answers.
using StudyBinder = void (*)(nanobind::module_& module);

/// One a file of studies/: `count.cpp` defines `StudyBinder count_study()`.
[[nodiscard]] std::vector<StudyBinder> study_binders();

}  // namespace natten_sim::python

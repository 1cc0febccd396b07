#include <nanobind/nanobind.h>

#include <natten_sim/core/version.hpp>

#include "answer.hpp"
#include "answer_schemas.hpp"
#include "studies.hpp"
#include "study.hpp"

NB_MODULE(_core, module) {
  using namespace natten_sim::python;
  nanobind::set_leak_warnings(false);  // the tables of keywords live as long as the interpreter
  module.doc() = "The studies of natten-sim, bound from their structs.";
  module.attr("version") = natten_sim::version().c_str();
  bind_answers(module);
  bind_catalog(module);
  bind_answer_schemas(module);
  for (const StudyBinder bind_one : study_binders()) bind_one(module);
}

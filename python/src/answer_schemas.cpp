#include "answer_schemas.hpp"

#include <utility>
#include <vector>

#include <nanobind/stl/string.h>

#include <natten_sim/io/json_text.hpp>
#include <natten_sim/report/catalog_report.hpp>

namespace natten_sim::python {
namespace {

using report::Json;

struct DescribedAnswer {
  std::string type;
  std::function<Json()> input;
  Json (*result)();
};

std::vector<DescribedAnswer>& described_answers() {
  static auto* answers = new std::vector<DescribedAnswer>;  // holds Python's objects: not destroyed after the interpreter
  return *answers;
}

/// {"answers": {"Count": {"input", "result"}, ..}, "entries": {"presets": .., ..}}
std::string answer_schemas() {
  Json answers = Json::object(), entries = Json::object();
  for (const DescribedAnswer& each : described_answers())
    answers[each.type] = {{"input", each.input()}, {"result", each.result()}};
  for (const report::CatalogTable* table : report::catalog_tables()) {
    if (table->keep != nullptr && table->entry_schema != nullptr) entries[table->name] = table->entry_schema();
  }
  return json_text({{"answers", std::move(answers)}, {"entries", std::move(entries)}});
}

}  // namespace

void describe_answer(const std::string& type, std::function<Json()> input, Json (*result)()) {
  described_answers().push_back({type, std::move(input), result});
}

void bind_answer_schemas(nanobind::module_& module) {
  module.def("_answer_schemas", answer_schemas, "JSON Schemas of answers and of the catalog's entries.");
}

}  // namespace natten_sim::python

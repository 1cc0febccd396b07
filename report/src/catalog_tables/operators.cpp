#include <fmt/format.h>

#include <natten_sim/io/lowering_data.hpp>
#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report {

template <typename Members>
void describe(Members& m, Of<OperatorRelease>) {
  using O = OperatorRelease;
  m.put("name", &O::operator_name, "The operator");
  m.put("release", &O::release, "Its release");
  m.put("construct", &O::construct, "How its source adds; null: by a sort, without atomics");
  m.put("condition", unless_empty(&O::condition), "When that holds; null: always");
  m.put("source", &O::source);
}

}  // namespace natten_sim::report

namespace natten_sim::report::tables {
namespace {

std::vector<Json> operator_rows(const Catalog&) { return rows_of(builtin_operators()); }

Json operator_entries(const Catalog&) { return json_of(builtin_operators()); }

std::string operators_text(const Catalog&) {
  std::vector<std::vector<std::string>> rows = {{"operator", "release", "adds by"}};
  for (const OperatorRelease& row : builtin_operators())
    rows.push_back({row.operator_name, row.release, row.construct.value_or("a sort, without atomics")});
  return text_table(rows, LastColumn::kLeft);
}

}  // namespace

CatalogTable operators_table();
CatalogTable operators_table() {
  return {.name = "operators",
          .position = 80,
          .entries = operator_entries,
          .rows = operator_rows,
          .text = operators_text,
          .entry_schema = schema_of<OperatorRelease>,
          .in_overview = false};
}

}  // namespace natten_sim::report::tables

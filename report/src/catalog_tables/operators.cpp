#include <fmt/format.h>

#include <natten_sim/io/lowering_data.hpp>
#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/text_table.hpp>

namespace natten_sim::report::tables {
namespace {

std::vector<Json> operator_rows(const Catalog&) {
  std::vector<Json> rows;
  for (const OperatorRelease& row : builtin_operators()) {
    rows.push_back({{"name", row.operator_name},
                    {"release", row.release},
                    {"construct", row.construct ? Json(*row.construct) : Json()},
                    {"condition", row.condition.empty() ? Json() : Json(row.condition)},
                    {"source", row.source}});
  }
  return rows;
}

Json operator_entries(const Catalog& catalog) { return operator_rows(catalog); }

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
          .in_overview = false};
}

}  // namespace natten_sim::report::tables

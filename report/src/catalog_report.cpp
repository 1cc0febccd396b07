
#include <natten_sim/core/registry.hpp>
#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/csv.hpp>

namespace natten_sim::report {
namespace tables {

std::vector<CatalogTable> built_in_tables();  // written by CMake: one entry a file of catalog_tables/

}  // namespace tables

namespace {

Registry<CatalogTable>& table_registry() {
  static Registry<CatalogTable> registry("list", tables::built_in_tables());
  return registry;
}

}  // namespace

const std::vector<const CatalogTable*>& catalog_tables() { return table_registry().sorted(); }
const CatalogTable& catalog_table(const std::string& name) { return table_registry().find(name); }
const CatalogTable& add_catalog_table(CatalogTable table) { return table_registry().add(std::move(table)); }

std::string catalog_table_names() {
  std::vector<std::string> names = table_registry().names();
  const std::string last = names.back();
  names.pop_back();
  return joined(names) + " or " + last;
}

Json catalog_json(const Catalog& catalog, const CatalogTable& table) {
  Json result = {{table.name, table.entries(catalog)}};
  if (table.beside != nullptr) result.update(table.beside(catalog));
  return result;
}

std::string catalog_csv(const Catalog& catalog, const CatalogTable& table) {
  const std::vector<Json> rows = table.rows(catalog);
  return csv_table(rows.front(), rows);
}

}  // namespace natten_sim::report

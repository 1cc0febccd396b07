#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/registry.hpp>
#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/object_schema.hpp>
#include <natten_sim/report/text_table.hpp>

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

namespace {

void require_entries(bool some, const CatalogTable& table) {
  if (!some)
    throw InvalidParameter("measured-only", "given with " + table.name + ", which it leaves empty,",
                           table.name + " without it");
}

}  // namespace

Json catalog_json(const Catalog& catalog, const CatalogTable& table) {
  Json result = {{table.name, table.entries(catalog)}};
  require_entries(!result.at(table.name).empty(), table);
  if (table.beside != nullptr) result.update(table.beside(catalog));
  return result;
}

Rows catalog_rows(const Catalog& catalog, const CatalogTable& table) {
  const std::vector<Json> rows = table.rows(catalog);
  require_entries(!rows.empty(), table);
  return {rows.front(), rows};
}

Json catalog_names_json(const Catalog& catalog) {
  Json names = Json::object();
  for (const CatalogTable* table : catalog_tables()) {
    if (!table->in_overview) continue;
    names[table->name] = Json::array();
    for (const Json& entry : table->entries(catalog)) names[table->name].push_back(entry.at("name"));
  }
  return names;
}

Json catalog_schema() {
  ObjectSchema all;
  for (const CatalogTable* table : catalog_tables()) {
    Json entry = table->entry_schema != nullptr ? table->entry_schema() : Json{{"type", "object"}};
    if (table->in_overview) entry = {{"anyOf", {{{"type", "string"}}, std::move(entry)}}};
    all.add(table->name, {{"type", "array"}, {"items", std::move(entry)}},
            table->in_overview ? "Entries of this table; names alone where no table is asked for"
                               : "Entries of this table",
            false);
    if (table->beside_schema == nullptr) continue;
    const Json beside = table->beside_schema();
    for (const auto& [name, member] : beside.at("properties").items())
      all.add(name, member, member.at("description").text(), false);
  }
  return all.json();
}

Rows catalog_names_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const CatalogTable* table : catalog_tables()) {
    if (!table->in_overview) continue;
    for (const Json& entry : table->entries(catalog)) {
      rows.push_back({{"list", table->name},
                      {"name", entry.at("name")},
                      {"source", entry.contains("source") ? entry.at("source") : Json()}});
    }
  }
  return {rows.front(), rows};
}

std::string catalog_names_text(const Catalog& catalog) {
  std::string text;
  const Json all = catalog_names_json(catalog);
  for (const auto& [list, names] : all.items()) {
    std::string line = fmt::format("{} ({}): ", list, names.size());
    bool first = true;
    for (const Json& name : names) {
      line += (first ? "" : ", ") + name.get<std::string>();
      first = false;
    }
    text += wrapped_text(line);
  }
  return text + "\n`natten-sim list NAME` says what is known of a table or of one in it, and from where.\n";
}

}  // namespace natten_sim::report

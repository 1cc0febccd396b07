#pragma once

#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/report/rows.hpp>

namespace natten_sim::report {

/// A table of `list`: entries in the order of the catalog, each with its source. It is one file:
/// report/src/catalog_tables/presets.cpp defines `CatalogTable tables::presets_table()`. Help and completion
/// read the list of tables. Code outside adds its own before main:
///
///     const report::CatalogTable& kMine = report::add_catalog_table({.name = "mine", ..});
struct CatalogTable {
  std::string name;  ///< as `list` takes it, and the key of the entries in JSON
  int position = 0;  ///< place in lists, ascending; ties by name
  Json (*entries)(const Catalog& catalog) = nullptr;            ///< an array
  std::vector<Json> (*rows)(const Catalog& catalog) = nullptr;  ///< for CSV, one row a fact
  std::string (*text)(const Catalog& catalog) = nullptr;
  Json (*beside)(const Catalog& catalog) = nullptr;  ///< more members of the JSON result; null: none
  /// Leaves one entry of this table in the catalog, by its name or the beginning of one. @throws UnknownName.
  /// Null: entries are not asked for by name.
  void (*keep)(Catalog& catalog, const std::string& name) = nullptr;
  Json (*entry_schema)() = nullptr;   ///< JSON Schema of an entry
  Json (*beside_schema)() = nullptr;  ///< and of what stands beside them
  bool in_overview = true;  ///< the names of all tables have its entries
};

/// In the order of their positions. The pointers stay valid; the list grows with add_catalog_table.
[[nodiscard]] const std::vector<const CatalogTable*>& catalog_tables();
/// @throws UnknownName with the closest name.
[[nodiscard]] const CatalogTable& catalog_table(const std::string& name);
/// For the rest of the process; call it before main. @throws InvalidParameter on a name that is taken or is
/// no name.
const CatalogTable& add_catalog_table(CatalogTable table);

/// `presets, backends, devices or kernels`, for help and errors.
[[nodiscard]] std::string catalog_table_names();

/// The `result` of JSON.
[[nodiscard]] Json catalog_json(const Catalog& catalog, const CatalogTable& table);
[[nodiscard]] Rows catalog_rows(const Catalog& catalog, const CatalogTable& table);

// The names in all tables, which is what `list` alone prints:
//
//     presets (23): cosmos-1-video, flux1-dev-4k, hunyuan-video, ..
//     devices (8): a100-40gb, b200, ..

/// {"presets": ["cosmos-1-video", ..], ..}
[[nodiscard]] Json catalog_names_json(const Catalog& catalog);
/// JSON Schema of all that `list` answers: names, tables and entries.
[[nodiscard]] Json catalog_schema();
/// Columns `list`, `name`, `source`.
[[nodiscard]] Rows catalog_names_rows(const Catalog& catalog);
[[nodiscard]] std::string catalog_names_text(const Catalog& catalog);

}  // namespace natten_sim::report

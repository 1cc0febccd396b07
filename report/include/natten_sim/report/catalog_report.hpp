#pragma once

#include <string>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/report/json.hpp>

namespace natten_sim::report {

/// The tables of `list`.
enum class CatalogTable { kPresets, kBackends, kDevices, kKernels };

/// The calibrated times of kernels, as data/kernel-times.json has them.
[[nodiscard]] Json kernel_times_json(const Catalog& catalog);

/// The entries in the order of the catalog, each with its source: as a JSON array, as CSV with one
/// row a fact, or as text.
[[nodiscard]] Json catalog_json(const Catalog& catalog, CatalogTable table);
[[nodiscard]] std::string catalog_csv(const Catalog& catalog, CatalogTable table);
[[nodiscard]] std::string catalog_text(const Catalog& catalog, CatalogTable table);

}  // namespace natten_sim::report

namespace natten_sim {

template <>
struct NamesOf<report::CatalogTable> {
  using Table = report::CatalogTable;
  static constexpr const char* kConcept = "list";
  static constexpr Name<Table> kTable[] = {{Table::kPresets, "presets"},
                                           {Table::kBackends, "backends"},
                                           {Table::kDevices, "devices"},
                                           {Table::kKernels, "kernels"}};
};

}  // namespace natten_sim

// A table of `list` that the program does not have: which backends take a dtype. This file is all there is to
// it.
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include <natten_sim/report/catalog_report.hpp>

namespace {

using namespace natten_sim;
using report::Json;

std::map<std::string, int> backends_of_dtypes(const Catalog& catalog) {
  std::map<std::string, int> counts;
  for (const Backend& backend : catalog.backends) {
    for (const std::string& dtype : backend.dtypes) ++counts[dtype];
  }
  return counts;
}

std::vector<Json> dtype_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const auto& [dtype, backends] : backends_of_dtypes(catalog))
    rows.push_back({{"name", dtype}, {"backends", backends}});
  return rows;
}

Json dtype_entries(const Catalog& catalog) { return dtype_rows(catalog); }

std::string dtypes_text(const Catalog& catalog) {
  std::string text;
  for (const auto& [dtype, backends] : backends_of_dtypes(catalog))
    text += dtype + ": " + std::to_string(backends) + " backends\n";
  return text;
}

[[maybe_unused]] const report::CatalogTable& kDtypes = report::add_catalog_table(
    {.name = "dtypes", .position = 25, .entries = dtype_entries, .rows = dtype_rows, .text = dtypes_text});

}  // namespace

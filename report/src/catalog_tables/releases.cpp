#include <fmt/format.h>

#include <natten_sim/report/catalog_report.hpp>

namespace natten_sim::report::tables {
namespace {

Json release_entries(const Catalog& catalog) {
  Json entries = Json::array();
  for (const NattenRules& release : catalog.natten)
    entries.push_back({{"name", release.version},
                       {"copies", release.copies},
                       {"changes", release.changes},
                       {"source", release.source}});
  return entries;
}

/// One row a change; a release that changes nothing has one without.
std::vector<Json> release_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const NattenRules& release : catalog.natten) {
    const auto add = [&](Json change) {
      rows.push_back({{"name", release.version},
                      {"copies", release.copies},
                      {"change", std::move(change)},
                      {"source", release.source}});
    };
    for (const std::string& change : release.changes) add(change);
    if (release.changes.empty()) add(nullptr);
  }
  return rows;
}

///     0.21.7   copies into tiles as since 0.21.7
///       the kernel that copies tokens into tiles and back was rewritten: ..
std::string releases_text(const Catalog& catalog) {
  std::string text;
  for (const NattenRules& release : catalog.natten) {
    text += fmt::format("{}   copies into tiles as since {}\n", release.version, release.copies);
    for (const std::string& change : release.changes) text += "  " + change + "\n";
    text += "  source: " + release.source + "\n\n";
  }
  return text;
}

}  // namespace

CatalogTable releases_table();
CatalogTable releases_table() {
  return {.name = "releases",
          .position = 70,
          .entries = release_entries,
          .rows = release_rows,
          .text = releases_text,
          .in_overview = false};
}

}  // namespace natten_sim::report::tables

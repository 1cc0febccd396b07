#include <fmt/format.h>

#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/described.hpp>

namespace natten_sim::report {

template <typename Members>
void describe(Members& m, Of<NattenRules>) {
  m.put("name", &NattenRules::version, "The release");
  m.put("copies", &NattenRules::copies, "First release with its copies into tiles");
  m.put("changes", &NattenRules::changes, "What it changes, of what this program knows about");
  m.put("source", &NattenRules::source);
}

}  // namespace natten_sim::report

namespace natten_sim::report::tables {
namespace {

Json release_entries(const Catalog& catalog) { return json_of(catalog.natten); }

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
          .entry_schema = schema_of<NattenRules>,
          .in_overview = false};
}

}  // namespace natten_sim::report::tables

#include <fmt/format.h>

#include <natten_sim/report/catalog_report.hpp>

namespace natten_sim::report::tables {
namespace {

Json backend_json(const Backend& backend) {
  const auto tiles = [](const std::vector<BackendTiles>& table) {
    Json array = Json::array();
    for (const BackendTiles& entry : table) {
      array.push_back({{"q_tile", to_json(entry.tiles.q_tile)},
                       {"kv_tile", to_json(entry.tiles.kv_tile)},
                       {"head_dim", nullable(entry.head_dim)},
                       {"variant", entry.variant.empty() ? Json() : Json(entry.variant)}});
    }
    return array;
  };
  return {{"name", backend.name},
          {"architectures", backend.architectures},
          {"dtypes", backend.dtypes},
          {"kv_tiling", to_string(backend.kv_tiling)},
          {"forward", tiles(backend.forward)},
          {"backward", tiles(backend.backward)},
          {"source", backend.source}};
}

Json backend_entries(const Catalog& catalog) {
  Json entries = Json::array();
  for (const Backend& backend : catalog.backends) entries.push_back(backend_json(backend));
  return entries;
}

/// One row a tile pair.
std::vector<Json> backend_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const Backend& backend : catalog.backends) {
    for (const auto& [pass, table] :
         {std::pair{"forward", &backend.forward}, std::pair{"backward", &backend.backward}}) {
      for (const BackendTiles& entry : *table) {
        rows.push_back({{"name", backend.name},
                        {"pass", pass},
                        {"q_tile", to_json(entry.tiles.q_tile)},
                        {"kv_tile", to_json(entry.tiles.kv_tile)},
                        {"head_dim", nullable(entry.head_dim)},
                        {"variant", entry.variant},
                        {"kv_tiling", to_string(backend.kv_tiling)},
                        {"source", backend.source}});
      }
    }
  }
  return rows;
}

std::string backends_text(const Catalog& catalog) {
  std::string text;
  for (const Backend& backend : catalog.backends) {
    std::string architectures;
    for (const std::string& name : backend.architectures)
      architectures += (architectures.empty() ? "" : ", ") + name;
    text +=
        fmt::format("{}   {} KV tiling   {}\n", backend.name, to_string(backend.kv_tiling), architectures);
    for (const auto& [label, table] :
         {std::pair{"forward", &backend.forward}, std::pair{"backward", &backend.backward}}) {
      for (std::size_t rank = 1; rank <= 3; ++rank) {
        std::vector<std::string> lines;
        std::string line;
        std::size_t shown = 0, all = 0;
        for (const BackendTiles& entry : *table) {
          if (entry.tiles.q_tile.rank() != rank) continue;
          const std::string pair =
              fmt::format("{}/{}{}", to_string(entry.tiles.q_tile), to_string(entry.tiles.kv_tile),
                          entry.head_dim ? fmt::format(" (d {})", *entry.head_dim) : "");
          ++all;
          if (shown < 8 && line.find(pair) == std::string::npos) {
            line += (line.empty() ? "" : "  ") + pair;
            ++shown;
          }
        }
        if (!line.empty())
          text += fmt::format("  {} {}-D, Q/KV: {}{}\n", label, rank, line,
                              all > 8 ? fmt::format("  .. {} entries, all with --json", all) : "");
      }
    }
    text += "  source: " + backend.source + "\n\n";
  }
  return text;
}

void keep_backend(Catalog& catalog, const std::string& name) {
  const std::string found = catalog.backend(name).name;
  std::erase_if(catalog.backends, [&](const Backend& each) { return each.name != found; });
}

}  // namespace

CatalogTable backends_table();
CatalogTable backends_table() {
  return {.name = "backends",
          .position = 20,
          .entries = backend_entries,
          .rows = backend_rows,
          .text = backends_text,
          .keep = keep_backend};
}

}  // namespace natten_sim::report::tables

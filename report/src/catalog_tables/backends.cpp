#include <fmt/format.h>

#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/described.hpp>

namespace natten_sim::report {

template <typename Members>
void describe(Members& m, Of<BackendTiles>) {
  m.put("q_tile", path(&BackendTiles::tiles, &TilePair::q_tile));
  m.put("kv_tile", path(&BackendTiles::tiles, &TilePair::kv_tile));
  m.put("head_dim", &BackendTiles::head_dim, "Head dim that has them; null: all");
  m.put("variant", unless_empty(&BackendTiles::variant), "Kernel schedule that has them; null: all");
}

template <typename Members>
void describe(Members& m, Of<Backend>) {
  m.put("name", &Backend::name, "Name of the backend");
  m.put("architectures", &Backend::architectures, "Architectures that it runs on");
  m.put("dtypes", &Backend::dtypes, "Element types");
  m.put("kv_tiling", &Backend::kv_tiling, "Whether KV tiles are on a fixed grid");
  m.put("forward", &Backend::forward, "Tiles of the forward pass");
  m.put("backward", &Backend::backward, "Tiles of the backward pass");
  m.put("source", &Backend::source);
}

}  // namespace natten_sim::report

namespace natten_sim::report::tables {
namespace {

Json backend_entries(const Catalog& catalog) { return json_of(catalog.backends); }

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
          .keep = keep_backend,
          .entry_schema = schema_of<Backend>};
}

}  // namespace natten_sim::report::tables

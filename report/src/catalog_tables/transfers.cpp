#include <cmath>

#include <fmt/format.h>

#include <natten_sim/io/tile_physics.hpp>
#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/study/cell_costs.hpp>

namespace natten_sim::report::tables {
namespace {

Json transfer_entries(const Catalog& catalog) {
  Json entries = Json::array();
  for (const TransferError& error : catalog.physics.transfers)
    entries.push_back({{"name", to_string(error.kind)},
                       {"points", error.points},
                       {"mean", error.mean},
                       {"worst", error.worst},
                       {"interval", error.interval},
                       {"inside", error.inside}});
  return entries;
}

std::vector<Json> transfer_rows(const Catalog& catalog) {
  const Json entries = transfer_entries(catalog);
  return {entries.begin(), entries.end()};
}

/// What data/tile-physics.json should hold, from the catalog's measured cells.
Json fit_beside(const Catalog& catalog) { return {{"fit", fitted_json(study::fitted_physics(catalog))}}; }

///     transfer            cells   mean  worst  interval  inside
///     other-device           34   4.4%  11.2%      9.8%     91%
std::string transfers_text(const Catalog& catalog) {
  std::string text = fmt::format("{:<20}{:>6}{:>8}{:>8}{:>10}{:>8}\n", "transfer", "cells", "mean", "worst",
                                 "interval", "inside");
  for (const TransferError& error : catalog.physics.transfers)
    text += error.points == 0 ? fmt::format("{:<20}{:>6}{:>8}{:>8}{:>9.1f}%{:>8}\n", to_string(error.kind), 0, "-",
                                            "-", 100 * error.interval, "-")
                              : fmt::format("{:<20}{:>6}{:>7.1f}%{:>7.1f}%{:>9.1f}%{:>7.0f}%\n", to_string(error.kind),
                                            error.points, 100 * error.mean, 100 * error.worst, 100 * error.interval,
                                            100 * error.inside);
  return text +
         "Measured cells, each predicted as if it and all that is nearer had not been measured. Intervals of kinds\n"
         "with fewer than 20 cells are half again the worst error; the last column counts cells within the\n"
         "interval that the others give.\n";
}

}  // namespace

CatalogTable transfers_table();
CatalogTable transfers_table() {
  return {.name = "transfers",
          .position = 60,
          .entries = transfer_entries,
          .rows = transfer_rows,
          .text = transfers_text,
          .beside = fit_beside,
          .in_overview = false};
}

}  // namespace natten_sim::report::tables

#include <cmath>

#include <fmt/format.h>

#include <natten_sim/io/tile_physics.hpp>
#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/study/cell_costs.hpp>

namespace natten_sim::report {

template <typename Members>
void describe(Members& m, Of<TransferError>) {
  using E = TransferError;
  m.put("name", &E::kind, "Kind of the transfer");
  m.put("points", &E::points, "Measured cells that judge it, each without itself and all that is nearer");
  m.put("mean", &E::mean, "Mean of the relative errors");
  m.put("worst", &E::worst, "Largest relative error");
  m.put("interval", &E::interval, "Half width of the 90% interval, as a fraction");
  m.put("inside", &E::inside, "Share of the cells within the interval that the others give, 0..1");
}

struct FittedTold {
  OpenObject fit;
};

template <typename Members>
void describe(Members& m, Of<FittedTold>) {
  m.put("fit", &FittedTold::fit,
        "What a fit to the catalog's measured cells gives, as data/tile-physics.json has it");
}

}  // namespace natten_sim::report

namespace natten_sim::report::tables {
namespace {

Json transfer_entries(const Catalog& catalog) { return json_of(catalog.physics.transfers); }

std::vector<Json> transfer_rows(const Catalog& catalog) { return rows_of(catalog.physics.transfers); }

/// What data/tile-physics.json should hold, from the catalog's measured cells.
Json fit_beside(const Catalog& catalog) {
  return json_of(FittedTold{{fitted_json(study::fitted_physics(catalog))}});
}

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
          .entry_schema = schema_of<TransferError>,
          .beside_schema = schema_of<FittedTold>,
          .in_overview = false};
}

}  // namespace natten_sim::report::tables

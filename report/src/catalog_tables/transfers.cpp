#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/study/cell_costs.hpp>

#include "kernel_costs_members.hpp"

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
  TilePhysics physics;
};

template <typename Members>
void describe(Members& m, Of<FittedTold>) {
  const auto of = [](auto member) { return path(&FittedTold::physics, member); };
  const auto pass = [](const auto& fitted) { return pass_name(fitted.pass); };
  const char* meaning = "What a fit to the catalog's measured cells gives, as data/tile-physics.json has it";
  m.object("fit", meaning, [=](auto& fit) {
    fit.put("constants", of(&TilePhysics::constants), "Times over those at the device's full rates", [pass](auto& each) {
      each.put("issue", &TileConstants::issue, "How products are issued");
      each.put("pass", pass, "Pass");
      each.put("tensor", four_digits_of(&TileConstants::tensor), "A tensor operation");
      each.put("element", four_digits_of(&TileConstants::element), "An element of a pair");
    });
    fit.put("factors", of(&TilePhysics::factors), "How kernels differ from others of their issue", [pass](auto& each) {
      each.put("kernel", &KernelFactor::kernel, "Kernel, with its variant");
      each.put("issue", &KernelFactor::issue, "How products are issued");
      each.put("pass", pass, "Pass");
      each.put("factor", four_digits_of(&KernelFactor::factor), "Its time over theirs");
    });
    fit.put("transfers", of(&TilePhysics::transfers), "Errors of kinds of transfers", [](auto& each) {
      using E = TransferError;
      each.put("kind", &E::kind, "Kind of the transfer");
      each.put("points", &E::points, "Measured cells that judge it");
      each.put("mean", four_digits_of(&E::mean), "Mean of the relative errors");
      each.put("worst", four_digits_of(&E::worst), "Largest relative error");
      each.put("interval", four_digits_of(&E::interval), "Half width of the 90% interval, as a fraction");
      each.put("inside", four_digits_of(&E::inside), "Share of the cells within the interval, 0..1");
    });
  });
}

}  // namespace natten_sim::report

namespace natten_sim::report::tables {
namespace {

Json transfer_entries(const Catalog& catalog) { return json_of(catalog.physics.transfers); }

std::vector<Json> transfer_rows(const Catalog& catalog) { return rows_of(catalog.physics.transfers); }

/// What data/tile-physics.json should hold, from the catalog's measured cells.
Json fit_beside(const Catalog& catalog) {
  return json_of(FittedTold{study::fitted_physics(catalog)});
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
         "with fewer than nine cells are half again the worst error; the last column counts cells within the\n"
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

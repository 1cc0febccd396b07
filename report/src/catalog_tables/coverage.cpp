#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/study/cell_costs.hpp>

namespace natten_sim::report {

namespace {

const char* walk_name(Walk pass) { return pass == Walk::kForward ? "forward" : "backward"; }

const char* evidence_name(const study::CoverageCell& row) {
  if (row.evidence) return to_string(row.evidence->origin);
  return row.missing.impossible ? "impossible" : "missing";
}

std::string cell_name(const study::CoverageCell& row) {
  return fmt::format("{} {} {} {} {}", row.cell.device, row.cell.kernel, row.cell.head_dim,
                     to_string(row.cell.dtype), walk_name(row.cell.pass));
}

}  // namespace

template <typename Members>
void describe(Members& m, Of<study::CoverageCell>) {
  using C = study::CoverageCell;
  using Cell = std::remove_cvref_t<decltype(C::cell)>;
  const auto cell = [](auto get) { return path(&C::cell, get); };
  m.put("name", &cell_name, "The cell: device, kernel, head dim, element type and pass");
  m.put("device", cell(&Cell::device));
  m.put("kernel", cell(&Cell::kernel));
  m.put("head_dim", cell(&Cell::head_dim), "Head dim");
  m.put("dtype", cell(&Cell::dtype), "Element type");
  m.put("pass", cell([](const Cell& each) { return walk_name(each.pass); }), "forward or backward");
  m.put("evidence", &evidence_name, "What its times rest on");
  m.put(
      "transfer",
      [](const C& row) -> const std::string* {
        return row.evidence && !row.evidence->transfer.empty() ? &row.evidence->transfer : nullptr;
      },
      "Kind of the transfer; null: measured, or no times");
  m.put("interval", path(&C::evidence, &CostEvidence::interval),
        "Half width of the 90% interval, as a fraction; null: no times");
  m.put("source", [](const C& row) -> const std::string& {
    return row.evidence ? row.evidence->source : row.missing.reason;
  });
}

}  // namespace natten_sim::report

namespace natten_sim::report::tables {
namespace {

std::vector<Json> coverage_rows(const Catalog& catalog) { return rows_of(study::coverage(catalog)); }

Json coverage_entries(const Catalog& catalog) { return json_of(study::coverage(catalog)); }

/// `12%` measured, `12%t` transferred, `12%p` physical, `-` impossible, `?` missing.
std::string coverage_mark(const study::CoverageCell& row) {
  if (!row.evidence) return row.missing.impossible ? "-" : "?";
  constexpr std::array<const char*, 3> kMarks = {"", "t", "p"};
  return fmt::format("{:.0f}%{}", 100 * row.evidence->interval,
                     kMarks[static_cast<std::size_t>(row.evidence->origin)]);
}

/// A line a device and kernel, 16-bit types:
///
///     device  kernel      32 fwd 32 bwd 64 fwd 64 bwd 128 fwd 128 bwd
///     h100    hopper-fna      8%     4%     7%     4%     12%      4%
std::string coverage_text(const Catalog& catalog) {
  std::map<std::string, int> totals;
  std::string text =
      fmt::format("Half width of the 90% interval; t: transferred from measured cells, p: physical, -: impossible.\n"
                  "{:<13} {:<15}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}", "device", "kernel", "32 fwd", "32 bwd", "64 fwd",
                  "64 bwd", "128 fwd", "128 bwd");
  std::string last;
  for (const study::CoverageCell& row : study::coverage(catalog)) {
    ++totals[evidence_name(row)];
    if (element_bytes(row.cell.dtype) != 2) continue;
    const std::string line = fmt::format("\n{:<13} {:<15}", row.cell.device, row.cell.kernel);
    if (line != last) text += line;
    last = line;
    text += fmt::format("{:>8}", coverage_mark(row));
  }
  text += "\n\nCells, 8-bit types included:";
  for (const auto& [evidence, count] : totals) text += fmt::format(" {} {},", count, evidence);
  text.back() = '.';
  return text + "\n`natten-sim list coverage --csv` has a row a cell, with the reason of each impossible one.\n";
}

}  // namespace

CatalogTable coverage_table();
CatalogTable coverage_table() {
  return {.name = "coverage",
          .position = 50,
          .entries = coverage_entries,
          .rows = coverage_rows,
          .text = coverage_text,
          .entry_schema = schema_of<study::CoverageCell>,
          .in_overview = false};
}

}  // namespace natten_sim::report::tables

#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/models/tiles/tile_time.hpp>
#include <natten_sim/study/setting.hpp>

namespace natten_sim::study {

/// One pass of a kernel on a device, at a head dim and type; with tiles of these sizes, or the kernel's own.
struct CostCell {
  std::string kernel, device;
  std::int64_t head_dim = 0;
  Dtype dtype = kDefaultDtype;
  Walk pass = Walk::kForward;
  std::optional<std::int64_t> q_tile_tokens, kv_tile_tokens;
};

/// Why a cell has no times.
struct NoCosts {
  std::string reason;
  bool impossible = false;  ///< the kernel does not exist there
};

/// Measured costs where somebody measured the cell; else, if the catalog's physics knows the kernel, costs
/// transferred from the nearest measured cells, or physical ones (tile_time.hpp). Holds this pass alone.
/// Cost: tens of microseconds where nothing was measured.
[[nodiscard]] std::variant<KernelCosts, NoCosts> costs_of_cell(const CostCell& cell, const Catalog& catalog);

/// The first entry that has the pass with the cell's tiles, or with any where the cell states none; null: nobody measured
/// it. Earlier entries replace later ones of the same tiles.
[[nodiscard]] const KernelCosts* measured_entry(const CostCell& cell, const Catalog& catalog);

/// The cells that transfers start from: all measured passes of kernels that the physics knows.
struct MeasuredCells {
  std::vector<TileCell> cells;
  std::vector<const KernelCosts*> costs;  ///< of each, in the catalog
};
[[nodiscard]] MeasuredCells measured_cells(const Catalog& catalog);

/// The catalog's physics with constants, factors and errors of transfers fitted anew to its measured cells.
/// Seconds.
[[nodiscard]] TilePhysics fitted_physics(const Catalog& catalog);

/// A row of the matrix of devices, kernels, head dims, types and passes.
struct CoverageCell {
  CostCell cell;
  std::optional<CostEvidence> evidence;  ///< none: no times
  NoCosts missing;                       ///< then why
};

/// All devices, kernels of the physics, head dims 32, 64 and 128, bf16 and e4m3, both passes.
[[nodiscard]] std::vector<CoverageCell> coverage(const Catalog& catalog);

}  // namespace natten_sim::study

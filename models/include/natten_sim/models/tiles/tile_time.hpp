#pragma once

#include <vector>

#include <natten_sim/core/device.hpp>
#include <natten_sim/core/tile_physics.hpp>

namespace natten_sim {

/// Times of a pair of tiles from its instruction mix:
///
///     time = factor * (tensor * products + element * exponentials)
///
/// with the pair's products at the device's full tensor rate, its exponentials at 16 a clock of an SM (32 on
/// compute capability 10.3), and constants of the issue and pass that are fitted over all measured cells at once.
/// The tensor rate is that of the hardware: operations a clock, rounded to the power of two that they are (stated
/// peaks assume clocks below boost), times the boost clock. mma.sync has kMmaSyncShare of it on Hopper.
///
/// Not modelled: shared memory apart from what the constants hold, DRAM, L2, clocks under load.

/// One pass of a kernel on a device, and what a pair of tiles takes of an SM there.
struct TileCell {
  std::string kernel;  ///< with its variant
  std::string device, architecture;
  TensorIssue issue = TensorIssue::kMmaSync;
  Walk pass = Walk::kForward;
  std::int64_t head_dim = 0;
  /// What it is padded to, and the largest head dim of its tiles: where both are alike, one program runs.
  std::int64_t computed_head_dim = 0, largest_head_dim = 0;
  std::int64_t q_tile_tokens = 0, kv_tile_tokens = 0;
  double tensor_us = 0, element_us = 0;  ///< of a pair at full rates
  double us = 0;                         ///< measured; 0: not
};

/// Share of the tensor rate of an SM of Hopper that mma.sync has: m16n8k16 on bf16 from registers does 2,525 to 2,710
/// of 4,096 operations a clock with 4 to 16 warps and enough independent sums (measured on an H200).
inline constexpr double kMmaSyncShare = 0.62;

/// The cell of `tiles`, with the pair's times at full rates. @throws InvalidParameter when the device lacks SMs,
/// clock or tensor rate. Requires tiles of a size above 0.
[[nodiscard]] TileCell tile_cell(const KernelPhysics& kernel, const PhysicalPass& pass, const PhysicalTiles& tiles,
                                 const Device& device, std::int64_t head_dim, Dtype dtype);

struct TileFit {
  std::vector<TileConstants> constants;
  std::vector<KernelFactor> factors;
};

/// Levenberg-Marquardt on the sum over cells of rho(log(predicted / measured) / 0.08) plus squares of
/// log(constant / prior) / spread; rho as in kernel_fit.hpp. A cell without a time is passed over.
/// @throws InvalidParameter when a prior is missing or no cell has a time.
[[nodiscard]] TileFit fit_tiles(const std::vector<TileCell>& cells, const std::vector<CostPrior>& priors);

/// What a pair takes of an SM by the fit; kernels that it does not know have factor 1, issues that it does not
/// know have the priors.
[[nodiscard]] double physical_us(const TileCell& cell, const TileFit& fit, const std::vector<CostPrior>& priors);

/// From which cells a cell takes its time.
struct Transfer {
  TransferKind kind = TransferKind::kPhysical;
  std::vector<std::size_t> sources;  ///< in `cells`, all as near as each other; empty: physical
  double us = 0;                     ///< the physical time, times the mean ratio of the sources' to theirs
};

/// Nearest first: the same program at another head dim that it pads, the same kernel and pass with other tiles, on
/// another device of the architecture (there too any head dim of the program), at another head dim (the nearest; of
/// the device if it has it), the sibling's, on another architecture (at the same head dim, or program, first).
[[nodiscard]] Transfer transfer_of(const TileCell& cell, const std::vector<TileCell>& cells, const TileFit& fit,
                                   const std::vector<CostPrior>& priors);

/// A measured cell, predicted as if it and all that is nearer than `kind` had not been measured.
struct LeftOutCell {
  TransferKind kind = TransferKind::kPhysical;
  std::size_t cell = 0;
  double predicted_us = 0;
};

/// All cells by all kinds that have sources then. Fits anew for each: about 10 ms a row.
[[nodiscard]] std::vector<LeftOutCell> leave_out_cells(const std::vector<TileCell>& cells,
                                                       const std::vector<CostPrior>& priors);

/// By kind. An error is the ratio of measured to predicted or its inverse, whichever is above 1, less 1. The interval
/// is the 90% conformal quantile of these: from predicted / (1 + interval) to predicted * (1 + interval). Of fewer than
/// kFewestPoints, 1.5 times the worst; of none, 1.5 times the widest of all kinds.
[[nodiscard]] std::vector<TransferError> transfer_errors(const std::vector<LeftOutCell>& rows,
                                                         const std::vector<TileCell>& cells);

/// Of which there is a 90% conformal quantile.
inline constexpr std::int64_t kFewestPoints = 9;

}  // namespace natten_sim

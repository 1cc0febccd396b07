#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <natten_sim/core/cta_schedule.hpp>
#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// Pairs of tiles that one CTA multiplies.
struct CtaVisits {
  std::int64_t tiles = 0;
  std::int64_t full = 0;  ///< of those, every pair of tokens attends; padding does not

  friend constexpr bool operator==(const CtaVisits&, const CtaVisits&) = default;
};

/// The CTAs of one head and batch element in launch order: dilation groups one after the other, in each the
/// walked tiles row-major. As NATTEN 0.21's kernels run them: hopper-fna and blackwell-fna pad every group to
/// ceil(L / (tile * dilation)) tiles, FlexAttention takes the longest group's tiles for all. From the mask
/// rule query by query, without a formula. O(tokens of the longest axis * dilation + CTAs).
/// @throws InvalidParameter on an invalid problem, for cutlass-fna (its tiles move), or when there are more
///         than `kMostCtas`.
inline constexpr std::int64_t kMostCtas = std::int64_t{1} << 22;
[[nodiscard]] std::vector<CtaVisits> list_ctas(const NeighborhoodMask& mask, const TilePair& tiles,
                                               NattenBackend backend, Walk pass);

/// A launch, run CTA by CTA.
struct GridRun {
  double makespan = 0;  ///< when the last CTA ends
  double busy = 0;      ///< mean over the workers
  std::int64_t ctas = 0;
};

/// `costs`, one a CTA in launch order, `repeats` times over (heads). kGrid: whoever is free takes the next
/// one, ties to the lower worker. kPersistent: worker w takes w, w + workers, ... Requires positive
/// numbers. O(CTAs) if the costs are alike, else O(CTAs log workers). @throws InvalidParameter for kTile, or nothing to run.
[[nodiscard]] GridRun run_grid(std::span<const double> costs, std::int64_t repeats, std::int64_t workers,
                               CtaSchedule schedule);

/// When the CTAs of 1, 2, .. `repeats` repetitions end: the makespans of so many launches from one run, since whoever
/// starts later delays nobody. As run_grid otherwise.
[[nodiscard]] std::vector<double> grid_makespans(std::span<const double> costs, std::int64_t repeats, std::int64_t workers,
                                                 CtaSchedule schedule);

}  // namespace natten_sim

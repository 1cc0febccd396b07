#pragma once

#include <optional>

#include <natten_sim/core/contention_profile.hpp>
#include <natten_sim/core/msda_costs.hpp>
#include <natten_sim/models/msda/msda_time.hpp>

namespace natten_sim {

/// One launch of kernels/msda: what it is, and what `simulate_msda` counts of it.
struct MsdaRun {
  MsdaPhase phase = MsdaPhase::kForward;
  MsdaTiling tiling = MsdaTiling::kBlock;
  MsdaUpdate update = MsdaUpdate::kRed16;  ///< of a backward pass
  std::int64_t element_bytes = 2;          ///< of the tensors
  std::int64_t parameter_bytes = 4;        ///< of a location's coordinate and of a weight
  double pairs = 0;                        ///< (image, query, head)
  double levels = 1, points = 1, head_channels = 32;
  double reads = 0;         ///< corners inside their level
  double rows = 0;          ///< distinct rows among them
  double value_bytes = 0;   ///< of the whole tensor
  double missed_bytes = 0;  ///< of rows that the L2 had not kept since their last read
};

/// Bytes of the gradient that updates are added to: the value's, in fp32 or in eight copies if so asked.
[[nodiscard]] double msda_gradient_bytes(const MsdaRun& run);
/// Bytes that a launch reads and writes besides rows of the value and their gradients.
[[nodiscard]] double msda_stream_bytes(const MsdaRun& run);
/// Share of `bytes` that leave the L2 before they are used again: exp(-resident_bytes / bytes).
[[nodiscard]] double msda_share_that_leaves(double bytes, const MsdaCosts& costs);

/// The kernel that a launch runs. @throws InvalidParameter when the costs lack it.
[[nodiscard]] const MsdaVariant& msda_variant(const MsdaRun& run, const MsdaCosts& costs);

/// Time of one launch, O(1). Five things run side by side and join as the `overlap`-norm:
///
/// *chain*: a warp walks its samples one after the other. Each step waits for a location, then for the rows
/// (load_chain_ns), and runs its instructions one after the other (instruction_chain_ns each); an answer of
/// an atomic is waited for too. Forward a step takes two samples. As many rounds as CTAs over what fits on
/// the SMs. Rows that are touched first come from the DRAM and take far_ns longer.
/// *issue*: warp instructions, instruction_ns each over all SMs.
/// *lines*: the L1 takes one line of a row after the other, line_ns each over all SMs. Backward, lanes of a
/// row store its samples side by side, so short rows cost more (store_line_ns over the lanes).
/// *atomics*: a reduction of each instruction that adds to a row (reduction_ns, or atom_ns, cas_ns,
/// scalar_ns), and its sectors (sector_ns).
/// *dram*: rows that miss, twice their gradients, and streams, of which the L2 keeps some.
///
/// Before and after come launches of zeroing and conversion (further_launch_ns), and what they write past the
/// L2.
///
/// Not modelled: contention of rows beyond its mean in these runs; the dispatch order, which moves a backward
/// pass by up to 15%.
/// @throws InvalidParameter as msda_variant.
[[nodiscard]] MsdaTime predict_msda_run(const MsdaRun& run, const MsdaCosts& costs,
                                        const ContentionProfile& profile);

/// The error on runs of this pass and tiling; none if none was held out.
[[nodiscard]] std::optional<MsdaCostError> msda_cost_error(const MsdaRun& run, const MsdaCosts& costs);

}  // namespace natten_sim

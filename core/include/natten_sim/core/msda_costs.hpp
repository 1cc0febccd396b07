#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/msda_config.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// How this project's kernels add gradients of the value.
enum class MsdaUpdate {
  kRed16,       ///< reductions of 16 bytes a lane
  kRed4,        ///< of 4 bytes
  kAtom,        ///< atomics of 4 bytes whose answer is used
  kCas,         ///< loops of 32-bit compare-and-swap
  kScalar,      ///< one element at a time: a reduction at fp32, a compare-and-swap at 16 bits
  kPrivate,     ///< kScalar into eight copies, which are summed up
  kAccumulator  ///< kRed16 into fp32, which is converted
};

template <>
struct NamesOf<MsdaUpdate> {
  static constexpr const char* kConcept = "update";
  static constexpr Name<MsdaUpdate> kTable[] = {{MsdaUpdate::kRed16, "red-16"},
                                                {MsdaUpdate::kRed4, "red-4"},
                                                {MsdaUpdate::kAtom, "atom"},
                                                {MsdaUpdate::kCas, "cas"},
                                                {MsdaUpdate::kScalar, "scalar"},
                                                {MsdaUpdate::kPrivate, "private"},
                                                {MsdaUpdate::kAccumulator, "fp32-accumulator"}};
};

/// One kernel as it was compiled. Instructions are counted on the device, registers bound the CTAs.
struct MsdaVariant {
  MsdaPhase phase = MsdaPhase::kForward;
  MsdaTiling tiling = MsdaTiling::kBlock;
  std::optional<MsdaUpdate> update;  ///< of a backward pass
  bool half = false;                 ///< 16-bit tensors
  double instructions = 0;           ///< of a warp, for each sample that its lanes hold
  std::int64_t ctas_per_sm = 0;      ///< of 256 threads
};

/// Ratios of predicted and timed on runs of one pass and tiling that no constant was fitted to.
struct MsdaCostError {
  MsdaPhase phase = MsdaPhase::kForward;
  MsdaTiling tiling = MsdaTiling::kBlock;
  std::int64_t unfitted_points = 0;
  double unfitted_worst_ratio = 1;
  double unfitted_mean_ratio = 1;  ///< geometric mean
};

/// What this project's kernels cost on one device (data/msda-costs.json). predict_msda_run says what each
/// constant multiplies.
struct MsdaCosts {
  std::string held_out;  ///< what the runs of `errors` have of their own
  double launch_ns = 0, further_launch_ns = 0;
  double load_chain_ns = 0, instruction_chain_ns = 0, far_ns = 0;
  double instruction_ns = 0, line_ns = 0, store_line_ns = 0;
  double reduction_ns = 0, sector_ns = 0;
  double atom_ns = 0, cas_ns = 0, scalar_ns = 0;
  double atom_chain_ns = 0, cas_chain_ns = 0, scalar_chain_ns = 0;
  double resident_bytes = 0;
  double overlap = 1;
  std::vector<MsdaVariant> variants;
  std::vector<MsdaCostError> errors;
};

}  // namespace natten_sim

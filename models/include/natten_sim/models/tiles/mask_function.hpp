#pragma once

#include <natten_sim/core/device.hpp>
#include <natten_sim/core/kernel_costs.hpp>
#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/core/schedule_mask.hpp>

namespace natten_sim {

/// What FlexAttention's partial blocks evaluate for each pair of tokens. `tables`: ranges of each query and
/// coordinates of each key, read from tables (natten_sim.flex). `compare`: token numbers alone, on one axis. `rows`:
/// coordinates by division, of tokens in row-major order (what `count --emit flex` writes). `tiles`: coordinates by
/// division of tokens that lie tile by tile, as NATTEN's mask of flex-fna.
enum class MaskFunction { kTables, kCompare, kRows, kTiles };

template <>
struct NamesOf<MaskFunction> {
  static constexpr const char* kConcept = "mask-function";
  static constexpr Name<MaskFunction> kTable[] = {{MaskFunction::kTables, "tables"},
                                                  {MaskFunction::kCompare, "compare"},
                                                  {MaskFunction::kRows, "rows"},
                                                  {MaskFunction::kTiles, "tiles"}};
};

/// Instructions a pair of tokens:
///
///     4 an axis (two comparisons, two conjunctions) + kDivision / 2 for each division and remainder of a key
///
/// A thread holds half as many keys as pairs, and a thirtieth as many queries: what is computed of a query is not
/// counted, what is computed of a key halves. `rows` takes a remainder an axis and a division for all but one,
/// `tiles` four an axis, both two more on a dilated one. `tables` is what was measured, kTablesInstructions.
[[nodiscard]] double mask_instructions(MaskFunction function, const NeighborhoodMask& mask) noexcept;

/// The same of rules on one sequence: two for each comparison of a pair of token numbers (it, and its conjunction), and
/// one for what is read of a key, as a document's number; of a dilated one the remainders are compared.
[[nodiscard]] double mask_instructions(const JoinedMask& mask) noexcept;

/// Of a division or remainder by a constant, floored as PyTorch's are.
inline constexpr double kDivision = 13;
inline constexpr double kTablesInstructions = 29;
/// What FlashAttention-4 does beside the mask function for each pair of a partial block: its place, the bounds of the
/// sequence, a selection.
inline constexpr double kElementOfFlash = 4;

/// `costs` with tiles masked by a function of `instructions` a pair: each is issued at 128 lanes a clock of an SM,
/// backward twice (for dQ, and for dK and dV). @throws InvalidParameter when the device's boost clock is not known.
[[nodiscard]] PassCosts with_mask_instructions(PassCosts costs, double instructions, const Device& device);

/// `costs` of a kernel of which one CTA ran on an SM, where two do: both together take `pace` of the time that one after
/// the other takes, and one alone is as fast as before. The mask function decides that of FlexAttention: an array that it
/// reads of each token takes 1 KiB of shared memory for a stage, and at head dims 64 and 96 two CTAs fit only
/// without such arrays, or with one.
[[nodiscard]] PassCosts with_two_ctas(PassCosts costs, double pace) noexcept;

/// Half width, as a fraction, of what such a mask adds: from the functions measured on an H200.
inline constexpr double kMaskInterval = 0.35;

}  // namespace natten_sim

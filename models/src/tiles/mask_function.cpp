#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/mask_function.hpp>

namespace natten_sim {
namespace {

double instructions_of(const SequenceRule& rule) noexcept {
  constexpr double kComparison = 2, kRead = 1;
  if (std::holds_alternative<FullMask>(rule)) return 0;
  if (std::holds_alternative<SlidingWindowMask>(rule)) return 2 * kComparison;
  if (std::holds_alternative<DocumentMask>(rule)) return kComparison + kRead;
  if (std::holds_alternative<DilatedMask>(rule)) return kComparison + kDivision / 2;
  return kComparison;  // causal, prefix
}

}  // namespace

double mask_instructions(MaskFunction function, const NeighborhoodMask& mask) noexcept {
  constexpr double kOfAxis = 4;
  if (function == MaskFunction::kTables) return kTablesInstructions;
  const auto axes = static_cast<double>(mask.rank());
  double divisions = 0;  // and remainders, of a key
  if (function == MaskFunction::kRows) divisions = 2 * axes - 1;
  if (function == MaskFunction::kTiles) divisions = 4 * axes;
  for (const AxisMask& axis : mask) divisions += function != MaskFunction::kCompare && axis.dilation > 1 ? 2 : 0;
  return kOfAxis * axes + kDivision / 2 * divisions;
}

double mask_instructions(const JoinedMask& mask) noexcept {
  double instructions = 0;
  for (const std::vector<SequenceRule>& all : mask.any) {
    for (const SequenceRule& rule : all) instructions += instructions_of(rule);
  }
  return instructions;
}

PassCosts with_mask_instructions(PassCosts costs, double instructions, const Device& device) {
  if (!device.boost_clock_hz)
    throw InvalidParameter("device", device.name, "a device whose boost clock is known, to count a mask's instructions");
  constexpr double kLanes = 128;
  const double evaluations = costs.pass == Walk::kForward ? 1 : 2;
  const double pairs = static_cast<double>(costs.q_tile_tokens) * static_cast<double>(costs.kv_tile_tokens);
  const double added_us = 1e6 * instructions * evaluations * pairs / kLanes / device.boost_clock_hz->value;
  for (double& masked_us : costs.masked_tile_us) masked_us = costs.unmasked_tile_us + added_us;
  return costs;
}

PassCosts with_two_ctas(PassCosts costs, double pace) noexcept {
  const double slower = 2 * pace;
  costs.ctas_per_sm = 2;
  costs.lone_share = pace;
  for (double* time : {&costs.unmasked_tile_us, &costs.bounds_masked_tile_us, &costs.cta_us}) *time *= slower;
  for (double& time : costs.masked_tile_us) time *= slower;
  for (double& time : costs.axes_tile_us) time *= slower;
  return costs;
}

}  // namespace natten_sim

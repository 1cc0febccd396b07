#pragma once

#include <cstdint>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// What the updates add. It matters because an addition that rounds away leaves the word as it was: the
/// compare-and-swaps of all other contenders then still match, and none has to retry.
enum class UpdateValues {
  kNormal,   ///< independent, standard normal
  kConstant  ///< always one: the sum stops growing at 2^significand bits (256 in bf16)
};

template <>
struct NamesOf<UpdateValues> {
  static constexpr const char* kConcept = "values";
  static constexpr Name<UpdateValues> kTable[] = {{UpdateValues::kNormal, "normal"},
                                                  {UpdateValues::kConstant, "constant"}};
};

/// Expected share of `updates` additions to one element that change it, after `prior_updates` additions to
/// the same element that started at zero. 0..1.
///
/// Normal values: the sum after t additions is N(0, t); an addition x changes it if |x| exceeds half of the
/// spacing of the sum's binade. Summed over binades and over 32 points of t. Rounding of the sum itself is
/// neglected; against a simulated accumulation the share is off by at most 0.05 (tests).
/// Constant values: exact. O(1).
/// @throws InvalidParameter when a count is negative.
[[nodiscard]] double changing_share(Dtype type, UpdateValues values, std::int64_t prior_updates,
                                    std::int64_t updates);

}  // namespace natten_sim

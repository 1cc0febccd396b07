#pragma once

#include <natten_sim/core/names.hpp>

namespace natten_sim::validate {

/// How a number of this project compares with one that was measured or published.
enum class Verdict {
  kWithin,       ///< deviates by no more than the tolerance
  kKnownMiss,    ///< deviates by more than that, but by no more than a documented miss
  kOutside,      ///< a new miss
  kScored,       ///< judged by the score of its group, not by itself
  kNoTolerance,  ///< no tolerance is stated: shown, not judged
};
using natten_sim::to_string;  // beside the overloads of this namespace, which would hide it

}  // namespace natten_sim::validate

namespace natten_sim {

template <>
struct NamesOf<validate::Verdict> {
  using Verdict = validate::Verdict;
  static constexpr const char* kConcept = "verdict";
  static constexpr Name<Verdict> kTable[] = {{Verdict::kWithin, "within"},
                                             {Verdict::kKnownMiss, "known miss"},
                                             {Verdict::kOutside, "OUT OF TOLERANCE"},
                                             {Verdict::kScored, "scored"},
                                             {Verdict::kNoTolerance, "not judged"}};
};

}  // namespace natten_sim

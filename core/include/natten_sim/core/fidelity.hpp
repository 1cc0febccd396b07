#pragma once

#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// How L2 misses are predicted: by a formula for CTAs in lockstep, by an LRU stack that replays lockstep
/// accesses, or by CTAs simulated in time in front of the device's L2.
enum class Fidelity { kClosedForm, kLru, kTimed };

template <>
struct NamesOf<Fidelity> {
  static constexpr const char* kConcept = "fidelity";
  static constexpr Name<Fidelity> kTable[] = {{Fidelity::kClosedForm, "closed-form"},
                                              {Fidelity::kLru, "lru"},
                                              {Fidelity::kTimed, "timed"}};
};

}  // namespace natten_sim

#pragma once

#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// Which worker (resident CTA) takes which Q tile. kPersistent: worker w takes w, w + workers, .. (static
/// round-robin). kGrid: a free worker takes the next one, in launch order, as in a grid launch or a
/// persistent kernel with an atomic counter. kTile: as kGrid, but two neighbouring Q tiles of a head at a
/// time, one after the other (the Sawtooth paper's tile-based variant).
enum class CtaSchedule { kPersistent, kGrid, kTile };

template <>
struct NamesOf<CtaSchedule> {
  static constexpr const char* kConcept = "schedule";
  static constexpr Name<CtaSchedule> kTable[] = {
      {CtaSchedule::kPersistent, "persistent"}, {CtaSchedule::kGrid, "grid"}, {CtaSchedule::kTile, "tile"}};
};

/// How items that lie in one list reach workers. kDynamic: a free worker takes the next. kStatic: settled
/// beforehand: worker w takes w, w + workers, .., or those that a schedule gives it.
enum class Dispatch { kDynamic, kStatic };

template <>
struct NamesOf<Dispatch> {
  static constexpr const char* kConcept = "dispatch";
  static constexpr Name<Dispatch> kTable[] = {{Dispatch::kDynamic, "dynamic"}, {Dispatch::kStatic, "static"}};
};

/// What varies fastest in launch order. kTilesFirst: the Q tiles of one head, then batches, then heads.
/// kHeadsFirst: the heads and batches of one Q tile index, then the next index.
enum class LaunchOrder { kTilesFirst, kHeadsFirst };

template <>
struct NamesOf<LaunchOrder> {
  static constexpr const char* kConcept = "launch-order";
  static constexpr Name<LaunchOrder> kTable[] = {{LaunchOrder::kTilesFirst, "tiles-first"},
                                                 {LaunchOrder::kHeadsFirst, "heads-first"}};
};

}  // namespace natten_sim

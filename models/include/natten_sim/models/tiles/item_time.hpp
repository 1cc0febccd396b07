#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <natten_sim/core/cta_schedule.hpp>

namespace natten_sim {

/// Time of a launch whose CTAs, one an SM, take Q tiles ("items") one after the other, from what a KV tile
/// costs that needs no mask, what one costs that does, and what every item and every launch cost besides:
///
///     time = launch + max over workers of sum over its items of (item + full tiles * full + partial tiles *
///     partial)
///
/// Assumes that costs do not depend on where a tile comes from. Not modelled: power (long launches are
/// slower), DRAM (problems that do not fit the L2 and miss often), what the last CTAs gain from idle
/// neighbours.

/// KV tiles that one Q tile visits.
struct ItemTiles {
  std::int64_t full = 0;
  std::int64_t partial = 0;
};

/// A launch: the items of one head in launch order, the same for each head, head after head.
struct ItemLaunch {
  std::vector<ItemTiles> head;
  std::int64_t heads = 1;
  std::int64_t workers = 1;
  Dispatch dispatch = Dispatch::kDynamic;
};

/// Nanoseconds.
struct ItemCosts {
  double launch = 0;
  double item = 0;
  double full = 0;
  double partial = 0;
};

/// What the worker that ends last did.
struct WorkerLoad {
  std::int64_t items = 0;
  std::int64_t full = 0;
  std::int64_t partial = 0;

  friend constexpr bool operator==(const WorkerLoad&, const WorkerLoad&) = default;
};

/// Ties go to the smaller worker number. O(items log workers). @throws InvalidParameter without items or
/// workers.
[[nodiscard]] WorkerLoad last_worker(const ItemLaunch& launch, const ItemCosts& costs);

[[nodiscard]] double item_time_ns(const ItemLaunch& launch, const ItemCosts& costs);

/// A launch and how long it took.
struct TimedItems {
  ItemLaunch launch;
  double time_ns = 0;
};

/// Costs that minimise the sum of squared relative errors, by linear fits (linear_fit.hpp) on the loads of
/// the last workers, which are found anew with each fit's costs until they stay; at most 50 times.
/// @throws InvalidParameter on fewer than four launches.
[[nodiscard]] ItemCosts fit_item_costs(std::span<const TimedItems> timed);

}  // namespace natten_sim

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <natten_sim/core/cta_schedule.hpp>

namespace natten_sim {

/// Time of a launch whose CTAs, one an SM, take Q tiles ("items") one after the other, from what a KV tile
/// costs that needs no mask, what one costs that does, what the pairs cost that attend, and what every item,
/// every byte from DRAM and every launch cost besides:
///
///     time = launch + bytes * byte + max over workers of sum over its items of
///            (item + full tiles * full + partial tiles * partial + second masks * second_mask +
///             attending * attending)
///
/// A sum, because such kernels run at the power limit, where time is energy over power, and energies add up:
/// that of a tile's instructions, that of products (which hardly take any where a factor is zero: hidden
/// pairs, and places of a box outside of the layout), that of a byte from DRAM. Assumes that nobody waits for
/// the DRAM. Not modelled: what the last CTAs gain from idle neighbours, and launches too short for the power
/// limit.

/// KV tiles that one Q tile visits.
struct ItemTiles {
  std::int64_t full = 0;
  std::int64_t partial = 0;
  double attending =
      0;  ///< pairs of tokens that attend, in full and partial tiles, over those of a whole tile
  std::int64_t second_masks = 0;  ///< partial tiles that take a second instruction to mask
};

/// A launch: the items of one head in launch order, the same for each head, head after head.
struct ItemLaunch {
  std::vector<ItemTiles> head;
  std::int64_t heads = 1;
  std::int64_t workers = 1;
  Dispatch dispatch = Dispatch::kDynamic;
  double dram_bytes = 0;  ///< that the launch reads
};

/// Nanoseconds.
struct ItemCosts {
  double launch = 0;
  double item = 0;
  double full = 0;
  double partial = 0;
  double attending = 0;
  double dram_byte = 0;
  double second_mask = 0;
};

/// What the worker that ends last did.
struct WorkerLoad {
  std::int64_t items = 0;
  std::int64_t full = 0;
  std::int64_t partial = 0;
  double attending = 0;
  std::int64_t second_masks = 0;

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
/// @throws InvalidParameter on fewer than seven launches.
[[nodiscard]] ItemCosts fit_item_costs(std::span<const TimedItems> timed);

}  // namespace natten_sim

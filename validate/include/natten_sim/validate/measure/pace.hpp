#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <natten_sim/kernels/gpu/item_interval.hpp>

namespace natten_sim::validate {

/// How much the time that a CTA takes for so many tiles in a row varies, in cycles of its SM. Tiles that vary
/// independently deviate by jitter / sqrt(tiles), items that vary as a whole by the same at every number.
struct TileVariation {
  std::int64_t tiles = 1;
  double deviation = 0;  ///< standard deviation of that time, as a fraction of it
};

/// How fast the CTAs of a kernel work, by the GPU's own clock. Models in time need this, and the time of a
/// whole kernel does not tell it: CTAs of one SM need not be equally fast, a CTA alone is not as fast as
/// several together, and tiles take different times.
struct CtaPace {
  /// Median time of a KV tile in the first, second .. CTA of an SM (by CTA number), all of them at work, ns.
  std::vector<double> tile_ns;
  /// Standard deviation of a tile's time as a fraction of it, as if tiles were independent. It is taken from
  /// the median difference between successive items of a CTA, so that neither differences between SMs nor
  /// interruptions of a few items count. An item that is slower as a whole counts as if its tiles varied:
  /// `variation` tells the two apart.
  double jitter = 0;
  int items = 0;  ///< number of items that count
  /// From one tile to all of an item, by median differences as above. Empty where the kernel marks no tiles.
  std::vector<TileVariation> variation;
  /// Standard deviation between CTAs (in the same place on their SMs) of their median item, as a fraction of
  /// it, in cycles; 0 without cycles.
  double cta_deviation = 0;
  /// Share of a tile's time until its scores are probabilities and V has arrived, the median of single tiles.
  /// None where the kernel does not tell.
  std::optional<double> score_share;
  /// From asking for K of a tile until it had arrived, on an SM at work, the median of items, ns. None where
  /// the kernel does not tell.
  std::optional<double> arrival_ns;
};

/// The pace of one launch whose items have `kv_tiles` KV tiles each. Only items that began and ended while
/// all CTAs of their SM were at work count. The first item of each CTA does not count, unless it is the only
/// one. @throws InvalidParameter when no item counts.
[[nodiscard]] CtaPace pace_of(std::span<const kernels::ItemInterval> intervals, std::int64_t kv_tiles);

}  // namespace natten_sim::validate

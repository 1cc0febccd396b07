#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <natten_sim/kernels/gpu/item_interval.hpp>

namespace natten_sim::validate {

/// How fast the CTAs of a kernel work, by the GPU's own clock. Models in time need this, and the time of a
/// whole kernel does not tell it: CTAs of one SM need not be equally fast, a CTA alone is not as fast as
/// several together, and tiles take different times.
struct CtaPace {
  /// Median time of a KV tile in the first, second .. CTA of an SM (by CTA number), all of them at work, ns.
  std::vector<double> tile_ns;
  /// Standard deviation of a tile's time as a fraction of it, as if tiles were independent. It is taken from
  /// the median difference between successive items of a CTA, so that neither differences between SMs nor
  /// interruptions of a few items count.
  double jitter = 0;
  int items = 0;  ///< number of items that count
};

/// The pace of one launch whose items have `kv_tiles` KV tiles each. Only items that began and ended while
/// all CTAs of their SM were at work count. The first item of each CTA does not count, unless it is the only
/// one. @throws InvalidParameter when no item counts.
[[nodiscard]] CtaPace pace_of(std::span<const kernels::ItemInterval> intervals, std::int64_t kv_tiles);

}  // namespace natten_sim::validate

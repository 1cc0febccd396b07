#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <natten_sim/kernels/gpu/item_interval.hpp>

namespace natten_sim::validate {

/// How fast the CTAs of a kernel work, by the GPU's own clock: what models in time need to know of a kernel,
/// and what a whole kernel's time does not tell. CTAs of one SM need not be equally fast, a CTA alone is not
/// as fast as several together, and no two tiles take the same time.
struct CtaPace {
  /// Median time of a KV tile in the first, second .. CTA of an SM (by CTA number), all of them at work, ns.
  std::vector<double> tile_ns;
  /// Standard deviation of a tile's time as a fraction of it, as if tiles were independent: from the
  /// median difference between successive items of a CTA, so that neither what distinguishes SMs nor what
  /// interrupts a few items counts.
  double jitter = 0;
  int items = 0;  ///< that count
};

/// Of one launch whose items have so many KV tiles each. Items count that began and ended while all CTAs of
/// their SM were at work, the first item of each CTA excepted, unless it has no other. @throws
/// InvalidParameter when no item counts.
[[nodiscard]] CtaPace pace_of(std::span<const kernels::ItemInterval> intervals, std::int64_t kv_tiles);

}  // namespace natten_sim::validate

#pragma once

#include <cstdint>
#include <optional>

#include <natten_sim/study/reuse.hpp>

namespace natten_sim::study {

/// What a prediction of L2 reuse comes down to: why DRAM is read more than once, and which walk reads less.
/// Every saving is that of asking reuse() again.

/// kNoCache: no capacity is known, so there are no misses. kUnanswered: the method has no formula here.
/// kCompulsory: everything is read once. kCapacity: data return after the cache has lost them.
enum class ReuseLimit { kNoCache, kUnanswered, kCompulsory, kCapacity };

/// A walk that reads less: one of the two has changed.
struct ReuseChange {
  std::optional<KvOrder> order;
  std::optional<LaunchOrder> launch;
  std::int64_t read_bytes = 0;      ///< with it
  double gain = 1;                  ///< DRAM reads before over after
  std::optional<double> time_gain;  ///< of a timed run
};

struct ReuseConclusion {
  ReuseLimit limit = ReuseLimit::kNoCache;
  std::optional<std::int64_t> seqlen;  ///< of a sweep: the last one that is answered
  std::int64_t read_bytes = 0;
  double reads_of_cold = 1;           ///< loads that miss over loads that must
  std::optional<ReuseChange> change;  ///< none: nothing that was asked reads less, or nothing was
  bool asked = false;                 ///< whether other walks were asked for
};

/// Concludes the answer, of a sweep its last length. Other orders and launches are asked by the same method
/// up to kCheapVisits pairs of tiles. Costs a few times the answer itself.
inline constexpr std::int64_t kCheapVisits = std::int64_t{1} << 21;
[[nodiscard]] ReuseConclusion conclude(const ReuseAnswer& answer, const Context& context);

}  // namespace natten_sim::study

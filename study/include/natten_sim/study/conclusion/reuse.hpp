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

/// An input that nobody measured for this kernel, and the DRAM reads over the values that it may have.
struct ReuseInfluence {
  std::string input;   ///< "stages", "jitter", "l2-bytes", "seed", "launch start", "schedule"
  std::string values;  ///< "1 to 3"
  std::int64_t low_bytes = 0, high_bytes = 0;
};

/// A walk in less than this share of the time, and no less reads, is not advised.
inline constexpr double kWorthwhileTime = 1.01;

/// DRAM reads over all values of all influences, one changed at a time.
struct ReuseInterval {
  std::int64_t low_bytes = 0, high_bytes = 0;
  std::vector<ReuseInfluence> influences;  ///< the widest first; those that hardly matter are left out
};

struct ReuseConclusion {
  ReuseLimit limit = ReuseLimit::kNoCache;
  std::optional<std::int64_t> seqlen;  ///< of a sweep: the last one that is answered
  std::int64_t read_bytes = 0;
  double reads_of_cold = 1;           ///< loads that miss over loads that must
  std::optional<ReuseChange> change;  ///< none: nothing that was asked reads less, or nothing was
  std::optional<ReuseChange> idle;    ///< reads least of those that save reads, but no time
  bool asked = false;                 ///< whether other walks were asked for
  /// Of a timed run, and of any whose schedule is assumed; none: it was not asked, since it takes long.
  std::optional<ReuseInterval> interval;
  bool interval_takes_long = false;  ///< so it was not asked
};

/// Concludes the answer, of a sweep its last length. Other orders and launches are asked by the same method
/// up to kCheapVisits pairs of tiles. Costs a few times the answer itself.
inline constexpr std::int64_t kCheapVisits = std::int64_t{1} << 21;
/// An interval asks a timed run of up to as many pairs of tiles nine times again: a minute of two cores at
/// most.
inline constexpr std::int64_t kIntervalVisits = std::int64_t{1} << 25;
/// Influences that widen the interval by less than this share of the reads are left out.
inline constexpr double kLeastInfluence = 0.01;
[[nodiscard]] ReuseConclusion conclude(const ReuseAnswer& answer, const Context& context);

}  // namespace natten_sim::study

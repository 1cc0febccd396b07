#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <natten_sim/sim/reuse/stack_distance.hpp>

namespace natten_sim {

/// A miss ratio estimated from a sample of the blocks, with its standard error.
struct MissRatioEstimate {
  double miss_ratio = 0;      ///< 0..1
  double standard_error = 0;  ///< of miss_ratio
  std::int64_t sampled_accesses = 0;
};

/// Stack distances from a spatial sample: only blocks whose hash falls below `rate` are followed, and their
/// distances among themselves are scaled by 1 / rate (SHARDS: Waldspurger et al., FAST 2015). Time and memory
/// shrink by the rate, so traces may have any length and footprint.
///
/// Error: blocks are split into kGroups groups by their hash. For each group the excess of its misses over
/// the pooled ratio times its accesses is one residual of the ratio estimator. The standard error is the root
/// of the sum of their squares, times sqrt(G / (G - 1)), over all accesses. It covers which blocks were
/// sampled; with few sampled blocks it is itself uncertain. It does not cover resolution: sampled distances
/// come in steps of a block / rate, so capacities below a few of those steps are biased. Deterministic for a
/// seed.
class SampledStackDistances {
 public:
  static constexpr int kGroups = 16;

  /// @throws InvalidParameter unless 0 < rate <= 1.
  explicit SampledStackDistances(double rate, std::uint64_t seed = 0);

  /// Any block number. Ignores blocks outside the sample.
  void access(std::uint64_t block, std::int64_t bytes = 1, std::int64_t weight = 1);

  /// Share of the accesses that miss a fully associative LRU cache. @throws InvalidParameter for a negative
  /// capacity.
  [[nodiscard]] MissRatioEstimate miss_ratio(std::int64_t capacity_bytes) const;
  /// All accesses seen, sampled or not.
  [[nodiscard]] std::int64_t accesses() const noexcept { return accesses_; }
  /// Estimated profile of the sampled accesses. Distances are scaled; counts are those of the sample.
  [[nodiscard]] ReuseProfile pooled() const;
  [[nodiscard]] double rate() const noexcept { return rate_; }
  /// Blocks in the sample so far. Memory grows with them.
  [[nodiscard]] std::int64_t sampled_blocks() const noexcept { return distances_.distinct_blocks(); }

 private:
  double rate_;
  std::uint64_t seed_;
  std::uint64_t threshold_;
  std::int64_t accesses_ = 0;
  std::unordered_map<std::uint64_t, std::int64_t> numbers_;
  StackDistances distances_;
  std::vector<ReuseProfile> groups_ = std::vector<ReuseProfile>(kGroups);
};

}  // namespace natten_sim

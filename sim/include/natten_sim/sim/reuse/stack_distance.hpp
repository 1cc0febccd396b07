#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace natten_sim {

/// Exact LRU stack distances of a trace, one access at a time.
///
/// The stack distance of an access is the number of distinct bytes touched since the last access to the same
/// block, that block included. A fully associative LRU cache hits iff the distance is at most its capacity,
/// so one pass over the trace answers for all capacities (Mattson et al., 1970).
///
/// Last accesses lie on a time axis, as the weights of a tree with 16 children a node. A distance is the sum
/// of the weights after a position, and an access moves one weight. The axis is compacted when it is full.
/// O(log M) time an access for M distinct blocks, less for recent ones (the walk ends where the position's
/// ancestors meet the newest one's); 28 bytes of memory a block. Blocks are numbered densely from 0; memory
/// grows with the largest number.
class StackDistances {
 public:
  explicit StackDistances(std::int64_t expected_blocks = 0);

  /// Distance of an access to `block` of `bytes` bytes; empty for a first access.
  /// @throws InvalidParameter: block in 0..2^28-1, bytes in 1..2^31.
  std::optional<std::int64_t> access(std::int64_t block, std::int64_t bytes = 1);

  [[nodiscard]] std::int64_t distinct_blocks() const noexcept { return live_; }
  [[nodiscard]] std::int64_t distinct_bytes() const noexcept { return live_bytes_; }

 private:
  void grow_blocks(std::int64_t block);
  void rebuild(std::size_t positions);
  void add(std::size_t position, std::int64_t bytes);
  [[nodiscard]] std::int64_t sum_behind_position(std::size_t position) const;

  static constexpr std::uint32_t kNever = 0xffffffff;
  std::vector<std::uint32_t> last_;      // of a block: its position, or kNever
  std::vector<std::uint32_t> block_at_;  // of a position: the block that was accessed then
  std::vector<std::uint32_t> weight_;    // of a position: bytes, 0 when the block was accessed later again
  std::vector<std::vector<std::int64_t>> sums_;  // of 16, 256, 4096, .. positions
  std::size_t next_ = 0;
  std::int64_t live_ = 0;
  std::int64_t live_bytes_ = 0;
};

/// The exact number of (weighted) accesses at each distance, and what follows from it for every capacity.
/// Adding is O(1) on average. The first query after a change sorts the distinct distances.
class ReuseProfile {
 public:
  /// Counts `weight` accesses (sectors, say) of this distance; empty distance: cold.
  void add(const std::optional<std::int64_t>& distance, std::int64_t weight = 1);

  [[nodiscard]] std::int64_t accesses() const noexcept { return accesses_; }
  [[nodiscard]] std::int64_t cold() const noexcept { return cold_; }
  /// Cold accesses and those farther than `capacity_bytes`.
  [[nodiscard]] std::int64_t misses(std::int64_t capacity_bytes) const;
  /// Mean distance of the accesses that are not cold; empty when all are cold.
  [[nodiscard]] std::optional<double> mean_bytes() const;

  struct Point {
    std::int64_t bytes = 0;
    std::int64_t count = 0;
  };
  /// Every distance that occurs, ascending, with its count.
  [[nodiscard]] std::vector<Point> distances() const;
  /// Misses at every capacity at which their number falls, capacities ascending; starts with capacity 0.
  [[nodiscard]] std::vector<Point> miss_curve() const;
  /// Counts in (upto/2, upto] for powers of two `upto`, from the smallest that occurs to the largest; zeros
  /// between them are kept.
  [[nodiscard]] std::vector<Point> histogram() const;

 private:
  void rehash();

  struct Slot {
    std::int64_t distance = -1;
    std::int64_t count = 0;
  };
  std::vector<Slot> slots_ = std::vector<Slot>(64);
  std::size_t used_ = 0;
  std::int64_t accesses_ = 0;
  std::int64_t cold_ = 0;
};

}  // namespace natten_sim

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <natten_sim/sim/reuse/live_positions.hpp>

namespace natten_sim {

/// Exact LRU stack distances of a trace, one access at a time.
///
/// The stack distance of an access is the number of distinct bytes touched since the last access to the same
/// block, that block included. A fully associative LRU cache hits iff the distance is at most its capacity,
/// so one pass over the trace answers for all capacities (Mattson et al., 1970).
///
/// Last accesses lie on a time axis. A distance is the sum of the weights after a position, and an access
/// moves one weight. While all blocks are of one size the axis is made of bits (LivePositions), 13 bytes of
/// memory a block. From the first block of another size on it is the weights of a tree with 16 children a
/// node, 28 bytes a block. The axis is compacted when it is full. O(log M) time an access for M distinct
/// blocks; in the tree of weights less for recent ones (the walk ends where the position's ancestors meet the
/// newest one's). Blocks are numbered densely from 0; memory grows with the largest number.
class StackDistances {
 public:
  explicit StackDistances(std::int64_t expected_blocks = 0);

  /// Distance of an access to `block` of `bytes` bytes; empty for a first access.
  /// @throws InvalidParameter: block in 0..2^28-1, bytes in 1..2^31.
  std::optional<std::int64_t> access(std::int64_t block, std::int64_t bytes = 1);

  [[nodiscard]] std::int64_t distinct_blocks() const noexcept { return live_; }

 private:
  void grow_blocks(std::int64_t block);
  void rebuild(std::size_t positions);
  void rebuild_sums(std::size_t kept);
  void take_weights();
  void add(std::size_t position, std::int64_t bytes);
  void forget(std::size_t position);
  [[nodiscard]] std::int64_t sum_behind_position(std::size_t position) const;

  static constexpr std::uint32_t kNever = 0xffffffff;
  std::vector<std::uint32_t> last_;      // of a block: its position, or kNever
  std::vector<std::uint32_t> block_at_;  // of a position: the block that was accessed then
  bool equal_ = true;                    // all blocks so far are of equal_bytes_
  std::int64_t equal_bytes_ = 0;
  LivePositions equal_positions_;
  std::vector<std::uint32_t>
      weight_;  // unless equal, of a position: bytes, 0 when the block was accessed later again
  std::vector<std::vector<std::int64_t>> sums_;  // unless equal, of 16, 256, 4096, .. positions
  std::size_t next_ = 0;
  std::int64_t live_ = 0;
  std::int64_t live_bytes_ = 0;
};

/// The exact number of (weighted) accesses at each distance, and what follows from it for every capacity.
/// Adding is O(1) on average. Distances of equal blocks are multiples of a power of two and, divided by it,
/// lie densely: those are counted in an array, of at most four entries an access, and all others in a hash
/// table. A query sorts what the hash table has.
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
  /// Makes room in the array for a distance that it has none for; false: there shall be none.
  [[nodiscard]] bool widen(std::uint64_t distance);
  void add_to_table(std::int64_t distance, std::int64_t weight);
  void rehash();

  struct Slot {
    std::int64_t distance = -1;
    std::int64_t count = 0;
  };
  std::vector<std::uint32_t> counts_;  // of the distances 0, 2^shift_, 2 * 2^shift_, ..
  std::uint32_t shift_ = 62;
  std::vector<Slot> slots_ = std::vector<Slot>(64);
  std::size_t used_ = 0;
  std::int64_t accesses_ = 0;
  std::int64_t cold_ = 0;
};

}  // namespace natten_sim

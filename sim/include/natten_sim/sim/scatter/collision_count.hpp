#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include <natten_sim/sim/scatter/index_stream.hpp>

namespace natten_sim {

/// The number of rows that receive exactly so many updates.
struct MultiplicityCount {
  std::int64_t multiplicity = 0;
  std::int64_t rows = 0;
  friend bool operator==(const MultiplicityCount&, const MultiplicityCount&) = default;
};

/// Updates by where they begin: number modulo kSourcePhases, row modulo kRowPhases, and whether the row
/// follows that of the update before. Enough to tell how rows of any width lie in warps and sectors.
class UpdatePhases {
 public:
  static constexpr std::int64_t kSourcePhases = 256, kRowPhases = 16;
  void add(std::int64_t update, std::int64_t row) {
    ++counts_[index(row == last_ + 1, update % kSourcePhases, row % kRowPhases)];
    last_ = row;
  }
  [[nodiscard]] std::int64_t count(bool follows, std::int64_t source, std::int64_t row) const {
    return counts_[index(follows, source, row)];
  }

 private:
  static std::size_t index(bool follows, std::int64_t source, std::int64_t row) {
    return static_cast<std::size_t>(((follows ? kSourcePhases : 0) + source) * kRowPhases + row);
  }
  std::array<std::uint32_t, 2 * kSourcePhases * kRowPhases> counts_{};
  std::int64_t last_ = -2;
};

struct CollisionCount {
  std::int64_t updates = 0;
  std::int64_t rows_touched = 0;
  std::int64_t max_multiplicity = 0;
  std::int64_t hottest_row = 0;  ///< the smallest of those with max_multiplicity
  /// Rows that are as hot as the hottest, apart from chance: their updates reach nine tenths of
  /// max_multiplicity, less three standard deviations of a count (its square root).
  std::int64_t hottest_rows = 0;
  /// Sum over stretches of `kCollisionStretch` updates of the largest multiplicity within the stretch.
  std::int64_t serial_multiplicity = 0;
  /// Other updates of the same row within the same `kCollisionBlock` updates, on average over updates.
  double close_updates = 0;
  std::vector<MultiplicityCount> histogram;  ///< ascending; rows that receive nothing are not in it
  std::vector<bool> touched;                 ///< by row: whether it receives anything
  /// Multiplicities of the rows from `near_first` on: the hottest and up to kNearRows on each side.
  std::vector<std::int64_t> near;
  std::int64_t near_first = 0;
  UpdatePhases phases;
};

/// Sectors that warps send when each adds `warp_bytes` consecutive bytes of the updates, which lie one after
/// the other, to rows that begin at row * row_bytes: a warp sends each sector of a consecutive piece once.
/// Exact but for pieces of one warp that meet in a sector without being neighbours. O(1).
/// @throws InvalidParameter unless row_bytes is even and warp_bytes one of 32, 64, .. 512.
[[nodiscard]] std::int64_t sent_sectors(const CollisionCount& collisions, std::int64_t row_bytes,
                                        std::int64_t warp_bytes);

inline constexpr std::int64_t kNearRows = 128;

/// Sectors of all updates that reach the slice of the L2 where the hottest row begins. Seen on an H200: in
/// each KiB one slice holds the first and third 256 bytes, another the second and fourth (docs/atomics.md).
/// Rows of the hottest one's KiB count, up to kNearRows away; each begins at row * row_bytes. O(kNearRows).
[[nodiscard]] std::int64_t slice_sectors(const CollisionCount& collisions, std::int64_t row_bytes);

/// Distinct aligned units of `unit_bytes` (32-bit words, sectors) that the touched rows cover, where row r
/// holds the bytes r * row_bytes .. (r + 1) * row_bytes - 1: neighbours may share a unit, and a row may begin
/// within one. O(rows); O(1) for rows of whole units. @throws InvalidParameter for sizes below 1,
/// OverflowError.
[[nodiscard]] std::int64_t touched_units(const CollisionCount& collisions, std::int64_t row_bytes,
                                         std::int64_t unit_bytes);

/// A stretch is many times the updates in flight, and short compared with a run. The hottest address may
/// change between stretches.
inline constexpr std::int64_t kCollisionStretch = 65536;

/// A block is of the order of the updates in flight.
inline constexpr std::int64_t kCollisionBlock = 1024;

/// Updates of each row so far, in all and within the current stretch and block. Memory follows the rows that
/// receive something: a table by hash, until an array of all rows is no larger.
class RowTally {
 public:
  explicit RowTally(std::int64_t rows);
  void add(std::int64_t row) {
    Counts& counts = array_.empty() ? in_table(row) : array_[static_cast<std::size_t>(row)];
    ++counts.total;
    const auto stretch = static_cast<std::uint32_t>(updates_ / kCollisionStretch);
    const auto block = static_cast<std::uint32_t>(updates_ / kCollisionBlock);
    if (counts.stretch != stretch) counts.in_stretch = 0;
    if (counts.block != block) counts.in_block = 0;
    counts.stretch = stretch;
    counts.block = block;
    hottest_ = std::max(hottest_, ++counts.in_stretch);
    pairs_ += counts.in_block++;
    phases_.add(updates_, row);
    if (++updates_ % kCollisionStretch == 0) {
      serial_ += hottest_;
      hottest_ = 0;
    }
  }
  void prefetch(std::int64_t row) const {
    if (array_.empty()) {
      __builtin_prefetch(&table_[place_of(row)], 1);
    } else {
      __builtin_prefetch(&array_[static_cast<std::size_t>(row)], 1);
    }
  }
  [[nodiscard]] std::int64_t updates() const { return updates_; }
  [[nodiscard]] CollisionCount result() const;

 private:
  struct Counts {
    std::uint32_t total = 0, stretch = 0, in_stretch = 0, block = 0, in_block = 0;
  };
  struct Entry {
    std::uint32_t key = 0;  // the row and 1; 0 where there is none
    Counts counts;
  };
  [[nodiscard]] std::size_t place_of(std::int64_t row) const {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(row) * 0x9E3779B97F4A7C15u) >> shift_);
  }
  /// The row's entry, or the empty one where it belongs.
  [[nodiscard]] std::size_t find(std::int64_t row) const {
    const auto key = static_cast<std::uint32_t>(row + 1);
    std::size_t place = place_of(row);
    while (table_[place].key != key && table_[place].key != 0) place = (place + 1) & (table_.size() - 1);
    return place;
  }
  Counts& in_table(std::int64_t row) {
    Entry& entry = table_[find(row)];
    return entry.key != 0 ? entry.counts : inserted(row);
  }
  Counts& inserted(std::int64_t row);
  [[nodiscard]] std::int64_t total_of(std::int64_t row) const;

  std::int64_t rows_;
  std::vector<Counts> array_;  // of all rows, or empty
  std::vector<Entry> table_;   // a power of two, at most half full, or empty
  std::size_t used_ = 0;
  int shift_ = 64;  // of a hash, that leaves the bits of a place
  std::int64_t updates_ = 0, serial_ = 0, pairs_ = 0;
  std::uint32_t hottest_ = 0;
  UpdatePhases phases_;
};

/// Consumes the stream. Time O(updates + rows); memory a bit a row, and the smaller of 20 bytes a row and some 100
/// bytes a row that receives something.
/// `progress` is called with the updates consumed so far. @throws InvalidParameter for a row outside
/// 0..rows-1 or more than 2^32 - 1 updates; what the stream throws.
[[nodiscard]] CollisionCount count_collisions(IndexStream& stream, std::int64_t rows,
                                              const std::function<void(std::int64_t)>& progress = {});

}  // namespace natten_sim

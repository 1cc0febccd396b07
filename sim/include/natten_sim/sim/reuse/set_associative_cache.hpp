#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// Which line of a full set is evicted. kTreePlru halves the ways with one bit a node and follows the bits
/// away from recent use; kNotRecent (NRU) takes the first way whose reference bit is clear, and clears all
/// others when every bit is set; kRandom takes any, from a seeded generator.
enum class Replacement { kLru, kFifo, kTreePlru, kNotRecent, kRandom };

template <>
struct NamesOf<Replacement> {
  static constexpr const char* kConcept = "replacement";
  static constexpr Name<Replacement> kTable[] = {{Replacement::kLru, "lru"},
                                                 {Replacement::kFifo, "fifo"},
                                                 {Replacement::kTreePlru, "plru"},
                                                 {Replacement::kNotRecent, "nru"},
                                                 {Replacement::kRandom, "random"}};
};

/// Which set a line belongs to: its number modulo the sets (a contiguous buffer spreads evenly, no two sets
/// differ by more than one line), or a hash of it (loads differ as random ones do).
enum class SetIndex { kModulo, kHashed };

struct SetAssociativeGeometry {
  std::int64_t sets = 1;
  std::int32_t ways = 1;
  Replacement replacement = Replacement::kLru;
  SetIndex index = SetIndex::kModulo;
  std::uint64_t seed = 0;  ///< seed of kRandom
};

/// The number of sets whose capacity comes nearest to `capacity_bytes`; at least one.
[[nodiscard]] std::int64_t sets_of_capacity(std::int64_t capacity_bytes, std::int32_t ways,
                                            std::int64_t line_bytes);

/// A cache of lines, empty at first. Deterministic. One access is O(ways).
class SetAssociativeCache {
 public:
  /// @throws InvalidParameter: sets 1..2^27, ways 1..64 (a power of two for kTreePlru), at most 2^27 lines.
  explicit SetAssociativeCache(const SetAssociativeGeometry& geometry);

  /// Returns whether the line is there, and fetches it otherwise.
  bool access(std::uint64_t line);

  [[nodiscard]] std::int64_t accesses() const noexcept { return accesses_; }
  [[nodiscard]] std::int64_t misses() const noexcept { return misses_; }
  [[nodiscard]] const SetAssociativeGeometry& geometry() const noexcept { return geometry_; }

 private:
  [[nodiscard]] std::size_t set_of(std::uint64_t line) const;
  [[nodiscard]] std::size_t victim(std::size_t set);
  void touch(std::size_t set, std::size_t way, bool fetched);

  SetAssociativeGeometry geometry_;
  std::vector<std::uint64_t> lines_;   // (set, way): line + 1, 0 for empty
  std::vector<std::uint64_t> stamps_;  // (set, way): time of last use (kLru) or fetch (kFifo)
  std::vector<std::uint64_t> bits_;    // (set): tree or reference bits
  std::uint64_t random_;
  std::int64_t accesses_ = 0;
  std::int64_t misses_ = 0;
};

}  // namespace natten_sim

#pragma once

#include <array>
#include <cstdint>

namespace natten_sim::kernels {

/// Tiles of an item at whose begin its clock is marked: the first is tile `kFirstMarkedTile`, mark i > 0 lies
/// 2^(i-1) tiles behind it. So one item gives the times of 1, 2, 4 .. 1024 tiles in a row.
inline constexpr int kItemMarks = 12;
inline constexpr int kFirstMarkedTile = 8;
/// Tile in which a CTA waits for the K that it asks for. It lies between marks, apart from single tiles.
inline constexpr int kWaitedTile = kFirstMarkedTile + 5;

/// Tiles between the first mark and mark i.
[[nodiscard]] constexpr std::int64_t tiles_to_mark(int mark) {
  return mark == 0 ? 0 : std::int64_t{1} << (mark - 1);
}

/// When a CTA worked on an item (a Q tile), and where. Times are those of the GPU's global timer. Cycles are
/// those of the SM's own clock: they tell what a CTA did from what the clock did, which is one for all SMs.
struct ItemInterval {
  std::uint64_t begin_ns = 0;  ///< its first loads have been asked for
  std::uint64_t end_ns = 0;    ///< its result has been stored
  std::uint32_t cta = 0;
  std::uint32_t sm = 0;
  std::uint64_t begin_cycle = 0;  ///< 0: the kernel takes no cycles
  std::uint64_t end_cycle = 0;
  std::array<std::uint64_t, kItemMarks> mark_cycles{};  ///< 0: the item has no such tile
  /// Where the scores of a marked tile are probabilities, and its V has arrived; 0: the kernel does not tell.
  std::array<std::uint64_t, kItemMarks> middle_cycles{};
  /// From asking for K of a tile until it had arrived, while the CTA waited; 0: the kernel does not tell.
  std::uint64_t arrival_cycles = 0;
};

}  // namespace natten_sim::kernels

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace natten_sim {

/// A time axis whose positions are live or dead, appended live and in order, that tells how many live ones
/// lie behind a position: stack distances of equal blocks (StackDistances).
///
/// A bit a position. Words of 64 bits are leaves of a tree with 16 children a node; each child holds how many
/// live positions the children behind it have. So a count is one load a level, and a death one masked
/// addition to a node a level. The newest word is in the tree only when it is full. O(log N) for N
/// positions; 1.6 bits of memory each. Inline, since an access takes a few nanoseconds.
class LivePositions {
 public:
  /// An axis with room for `positions`, of which the first `live` are there and live.
  void reset(std::size_t positions, std::size_t live);

  /// Calls `visit` with each live position, ascending.
  template <typename Visit>
  void for_each_live(Visit&& visit) const {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1)
        visit(word * kBits + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  }

  /// The next position, live. There has to be room.
  void append() {
    if (next_ % kBits == 0 && newest_live_ > 0) {
      add(next_ / kBits - 1, newest_live_);
      newest_live_ = 0;
    }
    words_[next_ / kBits] |= std::uint64_t{1} << next_ % kBits;
    ++newest_live_;
    ++next_;
  }

  void kill(std::size_t position) {
    words_[position / kBits] &= ~(std::uint64_t{1} << position % kBits);
    if (position / kBits == (next_ - 1) / kBits) {
      --newest_live_;
    } else {
      add(position / kBits, ~std::uint32_t{0});  // one less
    }
  }

  [[nodiscard]] std::int64_t live_behind(std::size_t position) const {
    std::size_t at = position / kBits;
    // Two shifts: one by 64 would be undefined.
    auto live = static_cast<std::uint32_t>(std::popcount(words_[at] >> position % kBits >> 1));
    if (at == (next_ - 1) / kBits) return live;
    for (std::size_t level = 0; level < levels_; ++level) {
      live += behind_[first_[level] + at];
      at /= kChildren;
    }
    return live + newest_live_;
  }

 private:
  static constexpr std::size_t kBits = 64;
  static constexpr std::size_t kChildren = 16;

  /// Row c selects the children before child c, so that additions need no branches.
  struct alignas(64) BeforeMasks {
    std::uint32_t keep[kChildren][kChildren] = {};
    constexpr BeforeMasks() {
      for (std::size_t c = 0; c < kChildren; ++c) {
        for (std::size_t i = 0; i < c; ++i) keep[c][i] = ~std::uint32_t{0};
      }
    }
  };
  static const BeforeMasks kBefore;

  /// Counts wrap around, and end where they should.
  void add(std::size_t at, std::uint32_t live) {
    for (std::size_t level = 0; level < levels_; ++level) {
      std::uint32_t* node = behind_.data() + first_[level] + at / kChildren * kChildren;
      const std::uint32_t* keep = kBefore.keep[at % kChildren];
      for (std::size_t i = 0; i < kChildren; ++i) node[i] += live & keep[i];
      at /= kChildren;
    }
  }

  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> behind_;   // of each child, within its node, level by level
  std::array<std::size_t, 8> first_{};  // of a level, its first child
  std::size_t levels_ = 0;
  std::size_t next_ = 0;
  std::uint32_t newest_live_ = 0;  // live positions of the newest word
};

}  // namespace natten_sim

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <natten_sim/core/cancellation.hpp>

namespace natten_sim {

/// An exact fully associative LRU cache of rows 0 .. rows - 1: a linked list over an array. O(1) an access,
/// 9 bytes a row.
class LruRows {
 public:
  LruRows(std::int64_t rows, std::int64_t capacity) : capacity_(capacity) {
    constexpr std::size_t kPiece = std::size_t{1} << 22;  // gigabytes take a while, between polls
    const auto all = static_cast<std::size_t>(rows);
    links_.reserve(all);
    cached_.reserve(all);
    while (links_.size() < all) {
      poll_now();
      const std::size_t size = std::min(all, links_.size() + kPiece);
      links_.resize(size);
      cached_.resize(size);
    }
  }

  /// Whether `row` was cached; it is the most recent one then.
  bool access(std::int32_t row) {
    if (capacity_ <= 0) return false;
    const bool hit = cached_[index(row)] != 0;
    if (hit) {
      if (row == newest_) return true;
      unlink(row);
    } else if (size_ == capacity_) {
      const std::int32_t victim = oldest_;
      unlink(victim);
      cached_[index(victim)] = 0;
    } else {
      ++size_;
    }
    cached_[index(row)] = 1;
    links_[index(row)] = {newest_, kNone};
    if (newest_ != kNone) links_[index(newest_)].newer = row;
    newest_ = row;
    if (oldest_ == kNone) oldest_ = row;
    return hit;
  }

 private:
  static constexpr std::int32_t kNone = -1;
  struct Links {
    std::int32_t older = kNone, newer = kNone;
  };
  static std::size_t index(std::int32_t row) { return static_cast<std::size_t>(row); }
  void unlink(std::int32_t row) {
    const Links links = links_[index(row)];
    (links.older != kNone ? links_[index(links.older)].newer : oldest_) = links.newer;
    (links.newer != kNone ? links_[index(links.newer)].older : newest_) = links.older;
  }

  std::vector<Links> links_;
  std::vector<std::uint8_t> cached_;
  std::int64_t capacity_, size_ = 0;
  std::int32_t newest_ = kNone, oldest_ = kNone;
};

}  // namespace natten_sim

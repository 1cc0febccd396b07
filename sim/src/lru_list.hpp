#pragma once

#include <cstdint>
#include <vector>

namespace natten_sim {

/// Which tiles a fully associative LRU cache of so many bytes holds. O(1) a touch.
class LruList {
 public:
  LruList(std::int64_t blocks, std::int64_t capacity_bytes)
      : links_(static_cast<std::size_t>(blocks) + 1), capacity_(capacity_bytes) {
    links_[0] = {0, 0, 0};
  }

  /// True when the block is held; otherwise it is fetched and others make room. A block larger than the cache
  /// is not held afterwards.
  bool touch(std::int64_t block, std::int64_t bytes) {
    const auto node = static_cast<std::uint32_t>(block + 1);
    const bool hit = links_[node].bytes != 0;
    if (hit) {
      if (links_[0].next == node) return true;
      unlink(node);
    } else {
      held_ += bytes;
      links_[node].bytes = static_cast<std::uint32_t>(bytes);
    }
    link_front(node);
    while (held_ > capacity_) evict(links_[0].previous);
    return hit;
  }

 private:
  struct Link {
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
    std::uint32_t bytes = 0;  // 0: not held
  };

  void unlink(std::uint32_t node) {
    links_[links_[node].previous].next = links_[node].next;
    links_[links_[node].next].previous = links_[node].previous;
  }
  void link_front(std::uint32_t node) {
    links_[node].previous = 0;
    links_[node].next = links_[0].next;
    links_[links_[0].next].previous = node;
    links_[0].next = node;
  }
  void evict(std::uint32_t node) {
    unlink(node);
    held_ -= links_[node].bytes;
    links_[node].bytes = 0;
  }

  std::vector<Link> links_;  // node 0 is the end of the ring
  std::int64_t capacity_;
  std::int64_t held_ = 0;
};

}  // namespace natten_sim

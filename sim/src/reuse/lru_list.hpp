#pragma once

#include <cstdint>
#include <vector>

namespace natten_sim {

/// The tiles that an LRU cache of a given size holds. It is fully associative, or divided into equal sets
/// with an LRU order each. O(1) a touch.
class LruList {
 public:
  LruList(std::int64_t blocks, std::int64_t bytes_a_set, std::int64_t sets = 1)
      : links_(static_cast<std::size_t>(blocks + sets)),
        held_(static_cast<std::size_t>(sets)),
        bytes_a_set_(bytes_a_set) {
    for (std::uint32_t set = 0; set < held_.size(); ++set) links_[set] = {set, set, 0};
  }

  [[nodiscard]] std::int64_t sets() const noexcept { return static_cast<std::int64_t>(held_.size()); }

  /// Returns whether the block is held. If not, it is fetched, and other blocks of its set are evicted. A
  /// block larger than a set is not held afterwards. Requires the same `set` for a block each time.
  bool touch(std::int64_t block, std::int64_t bytes, std::int64_t set) {
    const auto head = static_cast<std::uint32_t>(set);
    const auto node = static_cast<std::uint32_t>(block + sets());
    const bool hit = links_[node].bytes != 0;
    if (hit) {
      if (links_[head].next == node) return true;
      unlink(node);
    } else {
      held_[head] += bytes;
      links_[node].bytes = static_cast<std::uint32_t>(bytes);
    }
    link_front(head, node);
    while (held_[head] > bytes_a_set_) evict(head, links_[head].previous);
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
  void link_front(std::uint32_t head, std::uint32_t node) {
    links_[node].previous = head;
    links_[node].next = links_[head].next;
    links_[links_[head].next].previous = node;
    links_[head].next = node;
  }
  void evict(std::uint32_t head, std::uint32_t node) {
    unlink(node);
    held_[head] -= links_[node].bytes;
    links_[node].bytes = 0;
  }

  std::vector<Link> links_;  // nodes 0 .. sets - 1 are the ends of the sets' rings
  std::vector<std::int64_t> held_;
  std::int64_t bytes_a_set_;
};

}  // namespace natten_sim

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace natten_sim {

/// Finds small values in a range: a complete binary tree of minima. Build O(n), query O(log n).
class MinimumTree {
 public:
  MinimumTree() = default;
  explicit MinimumTree(const std::vector<std::int64_t>& values)
      : leaves_(std::bit_ceil(std::max<std::size_t>(values.size(), 1))),
        minima_(2 * leaves_, std::numeric_limits<std::int64_t>::max()) {
    std::copy(values.begin(), values.end(), minima_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t node = leaves_; node-- > 1;)
      minima_[node] = std::min(minima_[2 * node], minima_[2 * node + 1]);
  }

  /// Smallest index in from .. to-1 with a value of at most `limit`; `to` if there is none.
  [[nodiscard]] std::size_t next_at_most(std::size_t from, std::size_t to, std::int64_t limit) const {
    if (from >= to) return to;
    std::size_t node = from + leaves_;
    while (minima_[node] > limit) {  // up and to the right until a subtree holds one
      while (node & 1) node >>= 1;
      if (node == 0) return to;  // was on the right edge of the tree
      ++node;
    }
    while (node < leaves_) node = minima_[2 * node] <= limit ? 2 * node : 2 * node + 1;
    return std::min(node - leaves_, to);
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> minima_;
};

}  // namespace natten_sim

#include "windows/minimum_tree.hpp"

#include <random>

#include "catch.hpp"

namespace minimum_tree_test {

using natten_sim::MinimumTree;

TEST_CASE("the tree finds what a linear scan finds, for every range and limit") {
  std::mt19937_64 random(11);
  for (std::size_t size = 0; size <= 20; ++size) {
    std::vector<std::int64_t> values(size);
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 7);
    const MinimumTree tree(values);
    for (std::size_t from = 0; from <= size; ++from) {
      for (std::size_t to = from; to <= size; ++to) {
        for (std::int64_t limit = -1; limit <= 7; ++limit) {
          std::size_t scan = from;
          while (scan < to && values[scan] > limit) ++scan;
          INFO("size " << size << " from " << from << " to " << to << " limit " << limit);
          REQUIRE(tree.next_at_most(from, to, limit) == scan);
        }
      }
    }
  }
}

}  // namespace minimum_tree_test

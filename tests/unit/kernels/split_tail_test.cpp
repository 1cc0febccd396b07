// Dividing the last items of a launch among CTAs. Needs no GPU.
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <natten_sim/kernels/attention_forward/split_tail.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace split_tail_test {

using namespace natten_sim::kernels::attention_forward;

std::vector<std::int32_t> equal_items(std::size_t items, std::int32_t tiles) {
  return std::vector<std::int32_t>(items, tiles);
}

/// Time of the CTA that ends last, part by part.
double makespan(const std::vector<std::int32_t>& tiles, const SplitTail& tail, std::size_t ctas,
                const SplitCosts& costs) {
  std::vector<double> loads(ctas, 0.0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(tail.whole_items); ++i)
    loads[i % ctas] += costs.item + tiles[i];
  for (std::size_t i = 0; i < tail.parts.size(); ++i) {
    const SplitPart& part = tail.parts[i];
    if (part.item < 0) continue;
    loads[i % ctas] += costs.item + (part.parts > 1 ? costs.part : 0) + part.end - part.begin;
  }
  return *std::max_element(loads.begin(), loads.end());
}

/// Every item that is not whole is covered once, its parts numbered in order of keys.
void require_cover(const std::vector<std::int32_t>& tiles, const SplitTail& tail, std::size_t ctas) {
  REQUIRE((tail.parts.empty() || tail.parts.size() % ctas == 0));
  std::map<std::int32_t, std::map<std::int32_t, SplitPart>> of_item;
  for (std::size_t i = 0; i < tail.parts.size(); ++i) {
    const SplitPart& part = tail.parts[i];
    if (part.item < 0) {  // a CTA stops at its first empty place
      for (std::size_t later = i; later < tail.parts.size(); later += ctas) REQUIRE(tail.parts[later].item < 0);
      continue;
    }
    REQUIRE(of_item[part.item].emplace(part.number, part).second);
  }
  REQUIRE(tail.whole_items + of_item.size() == tiles.size());
  for (const auto& [item, parts] : of_item) {
    REQUIRE(item >= tail.whole_items);
    std::int32_t end = 0, number = 0;
    for (const auto& [key, part] : parts) {
      REQUIRE(key == number++);
      REQUIRE(part.parts == static_cast<std::int32_t>(parts.size()));
      REQUIRE(part.begin == end);
      if (part.parts > 1) REQUIRE(part.end - part.begin >= 2);
      end = part.end;
    }
    REQUIRE(end == tiles[static_cast<std::size_t>(item)]);
  }
}

TEST_CASE("2048 items of 128 tiles on 132 CTAs take 15.5 rounds, not 16") {
  const std::vector<std::int32_t> tiles = equal_items(2048, 128);
  const SplitCosts costs{0.5, 2};
  const SplitTail tail = split_tail(tiles, 132, costs);
  require_cover(tiles, tail, 132);
  CHECK(tail.whole_items == 1980);
  // 15 whole rounds, 68 * 128 tiles shared by 132, at most two parts a CTA.
  CHECK(makespan(tiles, tail, 132, costs) <= 15 * 128.5 + 68.0 * 128 / 132 + 2 * 2.5);
  CHECK(makespan(tiles, tail, 132, costs) <= tail.makespan + 1e-9);
}

TEST_CASE("items stay whole where rounds are full, where items are short, and on one CTA") {
  for (const SplitTail& tail :
       {split_tail(equal_items(264, 100), 132), split_tail(equal_items(2048, 4), 132),
        split_tail(equal_items(7, 50), 1), split_tail({}, 132)}) {
    CHECK(tail.parts.empty());
  }
  CHECK(split_tail(equal_items(264, 100), 132).whole_items == 264);
}

TEST_CASE("one item is shared by as many CTAs as its length is worth") {
  const std::vector<std::int32_t> tiles = {128};
  const SplitTail tail = split_tail(tiles, 132);
  require_cover(tiles, tail, 132);
  CHECK(tail.whole_items == 0);
  // 64 parts of 2 tiles end together: nothing is shorter than the shortest part and its costs.
  CHECK(makespan(tiles, tail, 132, {}) <= 2 + 2 + 0.5 + 0.05);
}

TEST_CASE("random launches are covered exactly, within the promised makespan, and never slower than whole") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937_64 random(seed);
  const auto up_to = [&](std::int32_t most) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(most)) + 1;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::int32_t ctas = up_to(40);
    const std::int32_t longest = up_to(200);
    std::vector<std::int32_t> tiles(static_cast<std::size_t>(up_to(150)));
    for (std::int32_t& of : tiles) of = up_to(longest);
    const SplitCosts costs{0.25 * up_to(8), 0.25 * up_to(16)};
    const SplitTail tail = split_tail(tiles, ctas, costs);
    require_cover(tiles, tail, static_cast<std::size_t>(ctas));
    const double taken = makespan(tiles, tail, static_cast<std::size_t>(ctas), costs);
    const SplitTail whole{static_cast<std::int32_t>(tiles.size()), {}, 0};
    const double undivided = makespan(tiles, whole, static_cast<std::size_t>(ctas), costs);
    REQUIRE(taken <= tail.makespan + 1e-9);
    REQUIRE(taken <= undivided + 1e-9);
  }
}

}  // namespace split_tail_test

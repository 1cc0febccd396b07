// Masks of batches of variable length, of pairs of CTAs and of merged heads, as rows of text.
#include <optional>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/window_tiles.hpp>

#include "catch.hpp"
#include "random.hpp"
#include "random_masks.hpp"

namespace mask_shapes_test {

using namespace natten_sim;
using Rows = std::vector<std::string>;

Rows rows_of(const BlockMask& mask) {
  Rows rows(static_cast<std::size_t>(mask.q_tiles));
  for (std::int32_t q = 0; q < mask.q_tiles; ++q) {
    for (std::int32_t kv = 0; kv < mask.kv_tiles; ++kv)
      rows[static_cast<std::size_t>(q)] += ".+#"[static_cast<std::size_t>(mask.at(q, kv))];
  }
  return rows;
}

TEST_CASE("sequences have tiles of their own, and KV tiles up to the longest, which exit early") {
  // Tiles of 4: sequences of 8 and 5 tokens have 2 tiles each, that of 3 one; the grid has 3 x 2 KV tiles.
  const BlockMask mask = varlen_mask({16, 16, 4, 4}, {{8, 8}, {3, 3}, {5, 5}}, {std::nullopt, 0});
  CHECK(rows_of(mask) == Rows{"+.....",    //
                              "#+....",    //
                              "..+...",    //
                              "....+.",    //
                              "....##"});  // its last tile is one token, which sees itself
}

TEST_CASE("each sequence aligns its own ends") {
  // Queries are the last 4 of 8 keys: bottom-right, all of them see the first 4 keys.
  const BlockMask mask = varlen_mask({6, 10, 4, 4}, {{4, 8}, {2, 2}}, {std::nullopt, 0});
  CHECK(rows_of(mask) == Rows{"#+..", "..+."});
  const BlockMask full = varlen_mask({6, 10, 4, 4}, {{4, 8}, {2, 2}}, {});
  CHECK(rows_of(full) == Rows{"##..", "..#."});
}

TEST_CASE("lengths of a batch must add up, and be some") {
  CHECK_THROWS_AS(varlen_mask({8, 8, 4, 4}, {{4, 4}, {3, 3}}, {}), InvalidParameter);
  CHECK_THROWS_AS(varlen_mask({8, 8, 4, 4}, {{8, 0}}, {}), InvalidParameter);
  CHECK_THROWS_AS(varlen_mask({8, 8, 4, 4}, {}, {}), InvalidParameter);
}

TEST_CASE("a pair of KV tiles is full where both are") {
  const BlockMask causal = window_mask({12, 12, 4, 4}, {std::nullopt, 0});
  CHECK(rows_of(causal) == Rows{"+..", "#+.", "##+"});
  CHECK(rows_of(paired_kv_tiles(causal)) == Rows{"+.", "+.", "#+"});
}

TEST_CASE("merged heads have their Q tiles one below the other") {
  const BlockMask causal = window_mask({8, 8, 4, 4}, {std::nullopt, 0});
  CHECK(rows_of(stacked_q_tiles(causal, 2)) == Rows{"+.", "#+", "+.", "#+"});
}

TEST_CASE("pairs of KV tiles of random masks are full, none, or partial where the two differ") {
  RandomSequence random(5);
  for (int n = 0; n < 100; ++n) {
    const BlockMask mask = test::random_block_mask(random, 9);
    const BlockMask pairs = paired_kv_tiles(mask);
    CHECK(pairs.q_tiles == mask.q_tiles);
    CHECK(pairs.kv_tiles == mask.kv_tiles / 2 + mask.kv_tiles % 2);
    Rows expected(static_cast<std::size_t>(mask.q_tiles));
    for (std::int32_t q = 0; q < mask.q_tiles; ++q) {
      const std::string row = rows_of(mask)[static_cast<std::size_t>(q)];
      for (std::size_t at = 0; at < row.size(); at += 2) {
        const bool alike = at + 1 == row.size() || row[at] == row[at + 1];
        expected[static_cast<std::size_t>(q)] += alike ? row[at] : '+';
      }
    }
    CHECK(rows_of(pairs) == expected);
    const BlockMask stack = stacked_q_tiles(mask, 3);
    Rows three;
    for (int i = 0; i < 3; ++i) {
      const Rows rows = rows_of(mask);
      three.insert(three.end(), rows.begin(), rows.end());
    }
    CHECK(rows_of(stack) == three);
  }
}

TEST_CASE("the tiles of a window are as many as its mask has") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("seed " << seed);
  RandomSequence random(seed);
  const auto side = [&]() -> std::optional<std::int64_t> {
    if (random.below(3) == 0) return std::nullopt;
    return static_cast<std::int64_t>(random.below(70));
  };
  const auto size = [&](std::uint64_t most) { return 1 + static_cast<std::int64_t>(random.below(most)); };
  for (int i = 0; i < 500; ++i) {
    const SequenceTiling tiling{size(60), size(60), size(9), size(9)};
    const SequenceWindow window{side(), side()};
    CHECK(window_tiles(tiling, window) == window_mask(tiling, window).attended().count);
  }
}

}  // namespace mask_shapes_test

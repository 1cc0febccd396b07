// Masks of joined rules, and what a question says of them, against every pair of tokens.
#include <random>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace joined_mask_test {

using namespace natten_sim;
using test::cases;
using test::stored_seed;

/// Lengths that add up to `tokens`.
std::vector<std::int64_t> random_lengths(std::mt19937_64& random, std::int64_t tokens) {
  std::vector<std::int64_t> lengths;
  while (tokens > 0) {
    lengths.push_back(1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(tokens)));
    tokens -= lengths.back();
  }
  return lengths;
}

SequenceRule random_rule(std::mt19937_64& random, const SequenceTiling& tiling) {
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  switch (random() % (tiling.q_tokens == tiling.kv_tokens ? 5 : 4)) {
    case 0:
      return FullMask{};
    case 1:
      return CausalMask{};
    case 2:
      return SlidingWindowMask{below(8), below(8)};
    case 3:
      return PrefixMask{1 + below(tiling.kv_tokens)};
    default:
      return DocumentMask{random_lengths(random, tiling.q_tokens)};
  }
}

/// Written from the words of the rules: ends of queries and keys are aligned.
bool attends(const SequenceRule& rule, const SequenceTiling& tiling, std::int64_t query, std::int64_t key) {
  const std::int64_t distance =
      (tiling.kv_tokens - 1 - key) - (tiling.q_tokens - 1 - query);  // of the key before
  if (std::holds_alternative<CausalMask>(rule)) return distance >= 0;
  if (const auto* window = std::get_if<SlidingWindowMask>(&rule))
    return distance <= window->left && -distance <= window->right;
  if (const auto* prefix = std::get_if<PrefixMask>(&rule)) return key < prefix->length;
  if (const auto* documents = std::get_if<DocumentMask>(&rule)) {
    std::int64_t begin = 0;
    for (const std::int64_t length : documents->lengths) {
      if (query >= begin && query < begin + length) return key >= begin && key < begin + length;
      begin += length;
    }
  }
  return true;
}

bool attends(const JoinedMask& mask, const SequenceTiling& tiling, std::int64_t query, std::int64_t key) {
  for (const auto& all : mask.any) {
    bool every = true;
    for (const SequenceRule& rule : all) every = every && attends(rule, tiling, query, key);
    if (every) return true;
  }
  return false;
}

TEST_CASE("masks of joined rules have the tiles and pairs that all pairs of tokens give: 2,500 random ones") {
  std::mt19937_64 random(stored_seed());
  INFO("NATTEN_SIM_SEED=" << stored_seed());
  for (int round = 0; round < cases(2500); ++round) {
    const auto size = [&](std::uint64_t most) { return 1 + static_cast<std::int64_t>(random() % most); };
    SequenceTiling tiling{size(24), 0, size(7), size(7)};
    tiling.kv_tokens = random() % 2 == 0 ? tiling.q_tokens : size(24);
    JoinedMask mask;
    for (std::uint64_t any = 0, count = 1 + random() % 3; any < count; ++any) {
      mask.any.emplace_back();
      for (std::uint64_t all = 0, rules = 1 + random() % 3; all < rules; ++all)
        mask.any.back().push_back(random_rule(random, tiling));
    }
    const TilesOfRules found = joined_mask(tiling, mask);
    std::int64_t pairs = 0;
    bool equal = true;
    for (std::int32_t q = 0; q < found.tiles.q_tiles; ++q) {
      for (std::int32_t kv = 0; kv < found.tiles.kv_tiles; ++kv) {
        std::int64_t here = 0, all = 0;
        for (std::int64_t i = q * tiling.q_tile; i < std::min((q + 1) * tiling.q_tile, tiling.q_tokens);
             ++i) {
          for (std::int64_t j = kv * tiling.kv_tile;
               j < std::min((kv + 1) * tiling.kv_tile, tiling.kv_tokens); ++j) {
            ++all;
            if (attends(mask, tiling, i, j)) ++here;
          }
        }
        const TileWork work = here == 0     ? TileWork::kNone
                              : here == all ? TileWork::kFull
                                            : TileWork::kPartial;
        equal = equal && found.tiles.at(q, kv) == work;
        pairs += here;
      }
    }
    REQUIRE(equal);
    REQUIRE(found.pairs == pairs);
  }
}

TEST_CASE("joined rules refuse lengths that do not fit") {
  CHECK_THROWS_AS(joined_mask({4, 4, 1, 1}, {{{DocumentMask{{2, 1}}}}}), InvalidParameter);
  CHECK_THROWS_AS(joined_mask({4, 5, 1, 1}, {{{DocumentMask{{2, 2}}}}}), InvalidParameter);
  CHECK_THROWS_AS(joined_mask({4, 4, 1, 1}, {{{PrefixMask{5}}}}), InvalidParameter);
  CHECK_THROWS_AS(joined_mask({4, 4, 1, 1}, {{{PrefixMask{0}}}}), InvalidParameter);
  CHECK_THROWS_AS(joined_mask({4, 4, 1, 1}, {{{SlidingWindowMask{-1, 0}}}}), InvalidParameter);
  CHECK_THROWS_AS(joined_mask({4, 4, 1, 1}, {{{DilatedMask{0}}}}), InvalidParameter);
  CHECK_THROWS_AS(joined_mask({4, 4, 1, 1}, {std::vector<std::vector<SequenceRule>>(9, {DilatedMask{2}})}), InvalidParameter);
  CHECK_THROWS_AS(joined_mask({(1 << 24) + 1, 4, 1024, 1}, {{{FullMask{}}}}), InvalidParameter);
}

}  // namespace joined_mask_test

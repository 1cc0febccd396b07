// Pairs of tokens that attend: documents, blocks, neighborhoods in the order of their tiles, and what the
// kernel is told about them.
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/attention_backward/problem.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "attention_backward/tile_masks.hpp"
#include "catch.hpp"

namespace attention_backward_pairs_test {

using namespace natten_sim;
using namespace natten_sim::kernels::attention_backward;

std::vector<std::int64_t> coordinates(const NeighborhoodMask& mask, std::int64_t token) {
  std::vector<std::int64_t> at(mask.rank());
  for (std::size_t axis = mask.rank(); axis-- > 0;) {
    at[axis] = token % mask[axis].length;
    token /= mask[axis].length;
  }
  return at;
}

/// Axis by axis, by the rule alone.
bool attends(const NeighborhoodMask& mask, std::int64_t query, std::int64_t key) {
  const std::vector<std::int64_t> q = coordinates(mask, query), k = coordinates(mask, key);
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
    const std::int64_t dilation = mask[axis].dilation;
    if (q[axis] % dilation != k[axis] % dilation) return false;
    const TokenRange range =
        attended_range(residue_class(mask[axis], q[axis] % dilation), q[axis] / dilation);
    if (k[axis] / dilation < range.begin || k[axis] / dilation >= range.end) return false;
  }
  return true;
}

Problem problem_of(TokenPairs pairs) {
  Problem problem;
  problem.q_tokens = pairs.q_tokens();
  problem.kv_tokens = pairs.kv_tokens();
  problem.pairs = std::make_shared<const TokenPairs>(std::move(pairs));
  lay_out_heads_first(problem);
  return problem;
}

TEST_CASE("a query sees the keys of its document") {
  const std::vector<std::int64_t> lengths = {3, 1, 70};
  const TokenPairs pairs = document_pairs(lengths);
  REQUIRE(pairs.q_tokens() == 74);
  const auto document = [](std::int64_t token) { return token < 3 ? 0 : token < 4 ? 1 : 2; };
  for (std::int64_t query = 0; query < 74; ++query) {
    for (std::int64_t key = 0; key < 74; ++key)
      CHECK(pairs.sees(query, key) == (document(query) == document(key)));
    CHECK(pairs.row(query)[1] >> 10 == 0);  // bits behind the last key
  }
  CHECK_THROWS_AS(document_pairs(std::vector<std::int64_t>{4, 0}), InvalidParameter);
}

TEST_CASE("tile order holds every token once, and -1 where a tile reaches beyond the layout") {
  // 3 x 5 in tiles of 2 x 4: four tiles; the first starts with tokens 0 1 2 3 of the first row, then 5 6 7 8.
  const std::vector<std::int64_t> order = tile_order(make_mask({3, 5}, {3, 5}), {2, 4});
  CHECK(order == std::vector<std::int64_t>{0,  1,  2,  3,  5,  6,  7,  8,  4,  -1, -1, -1, 9,  -1, -1, -1,
                                           10, 11, 12, 13, -1, -1, -1, -1, 14, -1, -1, -1, -1, -1, -1, -1});
  // Residue 0 of 0..4 modulo 2, then residue 1.
  CHECK(tile_order(make_mask({5}, {2}, {1}, {2}), {2}) == std::vector<std::int64_t>{0, 2, 4, -1, 1, 3});
}

TEST_CASE("pairs of a neighborhood are those of the rule, and its tiles those of the scheduler") {
  struct Given {
    NeighborhoodMask mask;
    TilePair tiles;
  };
  const std::vector<Given> all = {
      {make_mask({200}, {31}, {4}), {{64}, {128}}},
      {make_mask({13, 20}, {5, 8}, {2, 3}), {{8, 8}, {16, 8}}},
      {make_mask({20, 17}, {3, 4}, {1, 1}, {2, 3}), {{8, 8}, {16, 8}}},
      {make_mask({5, 6, 9}, {3, 3, 4}, {}, {1, 1, 2}, PerAxis<bool>{true, false, false}),
       {{4, 4, 4}, {4, 4, 8}}},
  };
  for (const auto& [mask, tiles] : all) {
    const TokenPairs pairs = neighborhood_pairs(mask, tiles);
    const std::vector<std::int64_t> queries = tile_order(mask, tiles.q_tile),
                                    keys = tile_order(mask, tiles.kv_tile);
    std::int64_t wrong = 0;
    for (std::int64_t q = 0; q < pairs.q_tokens(); ++q) {
      for (std::int64_t k = 0; k < pairs.kv_tokens(); ++k) {
        const std::int64_t query = queries[static_cast<std::size_t>(q)],
                           key = keys[static_cast<std::size_t>(k)];
        wrong += pairs.sees(q, k) != (query >= 0 && key >= 0 && attends(mask, query, key)) ? 1 : 0;
      }
    }
    CHECK(wrong == 0);
    // The scheduler's tables are made for its tiles: the kernel must attend to the same ones.
    const BlockMask mine = block_mask(problem_of(pairs), KernelShape{});
    const BlockMask theirs = neighborhood_mask({mask, tiles});
    REQUIRE(mine.q_tiles == theirs.q_tiles);
    REQUIRE(mine.kv_tiles == theirs.kv_tiles);
    for (std::size_t cell = 0; cell < mine.work.size(); ++cell)
      CHECK((mine.work[cell] == TileWork::kNone) == (theirs.work[cell] == TileWork::kNone));
  }
}

TEST_CASE("tiles of documents and of blocks are those of the scheduler") {
  const std::vector<std::int64_t> lengths = {300, 1, 211, 128, 128};
  const Problem documents = problem_of(document_pairs(lengths));
  CHECK(block_mask(documents, KernelShape{}).work == document_mask({768, 768, 64, 128}, lengths).work);
  std::mt19937 random(5);
  BlockMask blocks{11, 6, {}};
  for (int i = 0; i < 66; ++i) blocks.work.push_back(random() % 2 == 0 ? TileWork::kFull : TileWork::kNone);
  CHECK(block_mask(problem_of(block_pairs(blocks, 704, 768, 64, 128)), KernelShape{}) == blocks);
  CHECK_THROWS_AS(block_pairs(blocks, 705, 768, 64, 128), InvalidParameter);
}

TEST_CASE("a band and pairs hold both") {
  Problem problem = problem_of(document_pairs(std::vector<std::int64_t>{200, 184}));
  problem.mask.right = 0;
  // 6 x 3 tiles of 64 x 128. Documents end within tile 1 of the keys, and causal hides what lies above.
  const BlockMask mask = block_mask(problem, KernelShape{});
  const std::vector<std::vector<int>> seen = {{1, 0, 0}, {1, 0, 0}, {1, 1, 0},
                                              {1, 1, 0}, {0, 1, 1}, {0, 1, 1}};
  for (std::int32_t q = 0; q < 6; ++q) {
    for (std::int32_t kv = 0; kv < 3; ++kv) {
      INFO("tile " << q << ", " << kv);
      CHECK((mask.at(q, kv) != TileWork::kNone) ==
            (seen[static_cast<std::size_t>(q)][static_cast<std::size_t>(kv)] != 0));
    }
  }
}

TEST_CASE("patterns tell each thread of the consumers which of its scores count") {
  std::mt19937 random(9);
  TokenPairs pairs(130, 300);
  for (std::int64_t query = 0; query < 130; ++query) {
    for (std::int64_t key = 0; key < 300; ++key) {
      if (random() % 2 == 0) pairs.show(query, {key, key + 1});
    }
  }
  const Problem problem = problem_of(pairs);
  for (const int q_tile : {64, 80, 128}) {
    KernelShape kernel;
    kernel.q_tile = q_tile;
    const BlockMask mask = block_mask(problem, kernel);
    const PatternTable table = pattern_table(problem, kernel, mask);
    std::int64_t wrong = 0;
    for (std::int32_t q = 0; q < mask.q_tiles; ++q) {
      for (std::int32_t kv = 0; kv < mask.kv_tiles; ++kv) {
        REQUIRE(mask.at(q, kv) == TileWork::kPartial);
        const Pattern& pattern = table.patterns[table.of[mask_cell(mask, q, kv)]];
        // Rows of an m64 accumulator: 16 * warp + lane / 4 (+ 8); columns 8 * j + 2 * (lane % 4) (+ 1).
        for (int i = 0; i < q_tile; ++i) {
          for (int key = 0; key < 128; ++key) {
            const int lane = key % 8 * 4 + i % 8 / 2, thread = key / 16 * 32 + lane;
            const std::int64_t query = q * q_tile + i, token = kv * 128 + key;
            const bool seen = query < 130 && token < 300 && pairs.sees(query, token);
            wrong += ((pattern.word[thread][key / 8 % 2] >> (i / 8 * 2 + i % 2) & 1) != 0) != seen ? 1 : 0;
          }
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("equal partial tiles share a pattern") {
  // Windows far from the borders look alike: 40 documents of 64 x 3 tokens repeat every three Q tiles.
  const std::vector<std::int64_t> lengths(40, 192);
  const Problem problem = problem_of(document_pairs(lengths));
  const BlockMask mask = block_mask(problem, KernelShape{});
  // Besides the one that hides all: a Q tile lies within one document, which ends in the middle of every
  // second KV tile: its first or its second half is seen.
  CHECK(pattern_table(problem, KernelShape{}, mask).patterns.size() == 3);
}

TEST_CASE("a problem refuses pairs of other tokens") {
  Problem problem = problem_of(document_pairs(std::vector<std::int64_t>{100}));
  CHECK_NOTHROW(require_valid(problem));
  problem.q_tokens = 99;
  lay_out_heads_first(problem);
  CHECK_THROWS_AS(require_valid(problem), InvalidParameter);
}

TEST_CASE("head dimensions 64, 96 and 128 have a kernel, and pairs one of their own") {
  Problem problem;
  problem.q_tokens = problem.kv_tokens = 128;
  for (const int head_dim : {64, 96, 128}) {
    problem.head_dim = head_dim;
    CHECK(best_kernel(problem).head_dim == (head_dim == 64 ? 64 : 128));
    CHECK(!best_kernel(problem).pairs);
  }
  problem.pairs = std::make_shared<const TokenPairs>(128, 128);
  CHECK(best_kernel(problem).pairs);
  problem.head_dim = 80;
  CHECK_THROWS_AS(best_kernel(problem), InvalidParameter);
}

TEST_CASE("both engines have the same tiles, so that a table of one is a table of the other") {
  const auto mma = kernels::AttentionEngine::kMmaSync;
  for (const int head_dim : {64, 96, 128}) {
    Problem problem;
    problem.heads = problem.heads_kv = 2;
    problem.q_tokens = 300;
    problem.kv_tokens = 500;
    problem.head_dim = head_dim;
    problem.mask.right = 0;
    lay_out_heads_first(problem);
    const KernelShape kernel = best_kernel(problem, mma), other = best_kernel(problem);
    CHECK(kernel.engine == mma);
    CHECK(kernel.head_dim == other.head_dim);
    const BackwardProblem tiles = scheduling_problem(problem, kernel, 3);
    CHECK(tiles.mask == scheduling_problem(problem, other, 3).mask);
    CHECK(neighborhood_tiles(kernel, 2) == neighborhood_tiles(other, 2));
  }
  Problem wide;
  wide.head_dim = 160;
  CHECK_THROWS_AS(best_kernel(wide, mma), InvalidParameter);
}

TEST_CASE("chains over a group are chains of a KV head whose query heads stand one after the other") {
  Problem problem;
  problem.batch = 2;
  problem.heads = 6;
  problem.heads_kv = 2;
  problem.q_tokens = problem.kv_tokens = 256;  // 4 x 2 tiles
  problem.mask.right = 0;
  lay_out_heads_first(problem);
  const KernelShape kernel;
  const BackwardProblem by_head = scheduling_problem(problem, kernel, 3);
  const BackwardProblem tiles = grouped_problem(problem, kernel, 3);
  CHECK(tiles.heads == 4);
  CHECK(tiles.heads_per_kv_head == 1);
  REQUIRE(tiles.mask.q_tiles == 12);
  for (std::int32_t place = 0; place < 12; ++place) {
    for (std::int32_t kv = 0; kv < 2; ++kv) CHECK(tiles.mask.at(place, kv) == by_head.mask.at(place % 4, kv));
  }
  BackwardSchedule schedule;
  for (std::int32_t head = 0; head < 4; ++head) {
    for (std::int32_t kv = 0; kv < 2; ++kv)
      schedule.chains.push_back({head, kv, attended_q_tiles(tiles.mask, kv)});
  }
  for (std::int32_t cell = 0; cell < 4 * 12; ++cell)
    schedule.dq_order.push_back(attended_kv_tiles(tiles.mask, cell % 12));
  require_runnable(problem, kernel, tiles, schedule);
  const WorkList list = work_list(problem, kernel, tiles, schedule);
  // Causal: KV tile 0 is seen by all four Q tiles of each of three heads, KV tile 1 by the last two.
  REQUIRE(list.chains.size() == 8);
  std::set<std::vector<int>> seen;
  for (std::size_t chain = 0; chain < 8; ++chain) {
    const int batch = static_cast<int>(chain) / 4, kv_head = static_cast<int>(chain) / 2 % 2;
    CHECK(list.chains[chain].count == (chain % 2 == 0 ? 12 : 6));
    for (std::int32_t i = 0; i < list.chains[chain].count; ++i) {
      const Task& task = list.tasks[static_cast<std::size_t>(list.chains[chain].first + i)];
      CHECK(task.batch == batch);
      CHECK(task.kv_head == kv_head);
      CHECK(task.head / 3 == kv_head);
      CHECK(task.has(kLast) == (i + 1 == list.chains[chain].count));
      CHECK(task.rank == (task.q_tile >= 2 ? task.kv_tile : 0));
      seen.insert({task.batch, task.head, task.q_tile, task.kv_tile});
    }
  }
  CHECK(seen.size() == 2 * 6 * (4 + 2));
}

}  // namespace attention_backward_pairs_test

// Block masks against token-level brute force, and schedule tables against damaged ones.
#include <functional>
#include <random>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/schedule_table.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"
#include "schedules/mask_sizes.hpp"

namespace block_mask_test {

using namespace natten_sim;

using Attends = std::function<bool(std::int64_t query, std::int64_t key)>;

BlockMask brute_force(const SequenceTiling& tiling, const Attends& attends) {
  BlockMask mask;
  for (std::int64_t q = 0; q < tiling.q_tokens; q += tiling.q_tile, ++mask.q_tiles) {
    mask.kv_tiles = 0;
    for (std::int64_t kv = 0; kv < tiling.kv_tokens; kv += tiling.kv_tile, ++mask.kv_tiles) {
      bool some = false, all = true;
      for (std::int64_t i = q; i < std::min(q + tiling.q_tile, tiling.q_tokens); ++i) {
        for (std::int64_t j = kv; j < std::min(kv + tiling.kv_tile, tiling.kv_tokens); ++j) {
          some = some || attends(i, j);
          all = all && attends(i, j);
        }
      }
      mask.work.push_back(all ? TileWork::kFull : some ? TileWork::kPartial : TileWork::kNone);
    }
  }
  return mask;
}

TEST_CASE("full, causal and window masks equal token brute force, also for unequal lengths and cut tiles") {
  for (std::int64_t sq = 1; sq <= 9; ++sq) {
    for (std::int64_t sk = 1; sk <= 9; ++sk) {
      for (const auto& [tq, tk] : {std::pair{1, 1}, std::pair{2, 3}, std::pair{4, 2}, std::pair{20, 3}}) {
        const SequenceTiling tiling{sq, sk, tq, tk};
        CHECK(window_mask(tiling, {}) == brute_force(tiling, [](auto, auto) { return true; }));
        for (std::int64_t left = 0; left <= 4; ++left) {
          for (std::int64_t right = 0; right <= 3; ++right) {
            CHECK(window_mask(tiling, {left, right}) == brute_force(tiling, [&](auto i, auto j) {
                    const auto diagonal = i + sk - sq;
                    return j >= diagonal - left && j <= diagonal + right;
                  }));
          }
        }
        CHECK(window_mask(tiling, {std::nullopt, 0}) ==
              brute_force(tiling, [&](auto i, auto j) { return j <= i + sk - sq; }));
        CHECK(window_mask(tiling, {1, std::nullopt}) ==
              brute_force(tiling, [&](auto i, auto j) { return j >= i + sk - sq - 1; }));
      }
    }
  }
}

TEST_CASE("document masks equal token brute force") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> lengths, document_of;
    for (int i = 0, count = 1 + static_cast<int>(random() % 5); i < count; ++i) {
      lengths.push_back(1 + static_cast<std::int64_t>(random() % 6));
      document_of.insert(document_of.end(), static_cast<std::size_t>(lengths.back()), i);
    }
    const auto tokens = static_cast<std::int64_t>(document_of.size());
    const SequenceTiling tiling{tokens, tokens, 1 + static_cast<std::int64_t>(random() % 5),
                                1 + static_cast<std::int64_t>(random() % 5)};
    CHECK(document_mask(tiling, lengths) == brute_force(tiling, [&](auto i, auto j) {
            return document_of[static_cast<std::size_t>(i)] == document_of[static_cast<std::size_t>(j)];
          }));
  }
  CHECK_THROWS_AS(document_mask({4, 4, 1, 1}, {2, 1}), InvalidParameter);
  CHECK_THROWS_AS(document_mask({4, 5, 1, 1}, {2, 2}), InvalidParameter);
  CHECK_THROWS_AS(document_mask({4, 4, 1, 1}, {}), InvalidParameter);
  CHECK_THROWS_AS(document_mask({4, 4, 1, 1}, {4, 0}), InvalidParameter);
}

TEST_CASE("neighborhood masks equal the window rule, dilation groups one after the other") {
  // Seven tokens, window 3, dilation 2: groups of 4 (even tokens) and 3 (odd), tiles of 2 queries and 2 keys.
  TilingProblem problem;
  problem.mask = make_mask({7}, {3}, {1}, {2}, {false});
  problem.tiles = {{2}, {2}};
  const BlockMask mask = neighborhood_mask(problem);
  // Group 0: queries 0,1 see 0-2; 2,3 see 1-3. Group 1: all three see all; its second tiles hold one token.
  CHECK(block_mask_rows(mask) == std::vector<std::string>{"#+..", "+#..", "..##", "..##"});
  problem.kv_tiling = KvTiling::kDynamic;
  CHECK_THROWS_AS(neighborhood_mask(problem), InvalidParameter);
}

TEST_CASE("a dilation group that is a tile shorter has fewer tiles in the mask") {
  // Five tokens in groups of 3 and 2 that see themselves, tiles of 2: two tiles and one.
  const TilingProblem problem{.mask = make_mask({5}, {1}, {}, {2}), .tiles = {{2}, {2}}};
  CHECK(block_mask_rows(neighborhood_mask(problem)) == std::vector<std::string>{"+..", ".#.", "..+"});
}

TEST_CASE("tiles of a single dimension count from the first token on") {
  // Rows of four tokens, each a tile, that see themselves only.
  const TilingProblem problem{
      .mask = make_mask({3, 4}, {1, 4}), .tiles = {{4}, {4}}, .tiling = Tiling::kSingleDimensional};
  CHECK(block_mask_rows(neighborhood_mask(problem)) == std::vector<std::string>{"#..", ".#.", "..#"});
}

TEST_CASE("masks that are too large are refused before they are built") {
  CHECK_THROWS_AS(window_mask({std::int64_t{1} << 40, 1, 1, 1}, {}), InvalidParameter);
  CHECK_THROWS_AS(window_mask({60000, 60000, 1, 1}, {}), InvalidParameter);
  CHECK_THROWS_AS(window_mask({0, 1, 1, 1}, {}), InvalidParameter);
  CHECK_THROWS_AS(window_mask({1, 1, 1, 1}, {-1, 0}), InvalidParameter);
  CHECK(empty_mask(65536, 4096).work.size() == std::size_t{1} << 28);  // as many pairs as there may be
  CHECK_THROWS_AS(empty_mask(65536, 4097), InvalidParameter);
  CHECK_THROWS_AS(empty_mask(65537, 1), InvalidParameter);
}

TEST_CASE("block masks as text: all spellings, and every kind of damage") {
  const BlockMask mask = parse_block_mask("#+.\n.+#\n", "test");
  CHECK(parse_block_mask("1 + 0\r\n0 + 1\r\n\n", "test") == mask);
  CHECK(block_mask_rows(mask) == std::vector<std::string>{"#+.", ".+#"});
  for (const char* bad : {"", "\n\n", "#+\n#\n", "#x\n", "##\n\n##\n"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_block_mask(bad, "test"), MalformedData);
  }
}

ScheduleTable small_table(const ScheduleAlgorithm& algorithm) {
  ScheduleRequest request;
  request.problem.mask = window_mask({6, 6, 2, 2}, {std::nullopt, 0});
  request.problem.heads = 2;
  request.problem.heads_per_kv_head = 2;
  request.problem.workers = 3;
  const SchedulePhase phase = plan_backward(algorithm, request).phases.front();
  return {phase.problem, phase.schedule};
}

TEST_CASE("tables survive writing and reading, in every kind of schedule") {
  for (const char* name : {"ascending", "shift", "unordered", "best"}) {
    const ScheduleAlgorithm& algorithm = schedule_algorithm(name);
    const ScheduleTable table = small_table(algorithm);
    const ScheduleTable read = parse_schedule_table(to_json(table), "test");
    CHECK(to_json(read) == to_json(table));
    CHECK(read.problem.mask == table.problem.mask);
    CHECK(read.problem.heads_per_kv_head == 2);
    CHECK(run_schedule(read.problem, {}, read.schedule).makespan ==
          run_schedule(table.problem, {}, table.schedule).makespan);
  }
}

TEST_CASE("a table cut off anywhere is refused") {
  const std::string json = to_json(small_table(schedule_algorithm("best")));
  for (std::size_t length = 0; length + 2 < json.size(); ++length) {
    INFO(length);
    CHECK_THROWS_AS(parse_schedule_table(json.substr(0, length), "test"), Error);
  }
}

TEST_CASE("damaged tables are refused with the reason") {
  const std::string json = to_json(small_table(schedule_algorithm("shift")));
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& reason) {
    std::string bad = json;
    const std::size_t at = bad.find(from);
    REQUIRE(at != std::string::npos);
    bad.replace(at, from.size(), to);
    INFO(from << " -> " << to);
    try {
      (void)parse_schedule_table(bad, "test");
      FAIL("was accepted");
    } catch (const Error& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(reason) != std::string::npos);
    }
  };
  refused("schedule-table/1", "schedule-table/3", "schema");
  refused("\"q_tiles\":3", "\"q_tiles\":4", "q_tiles");
  refused("\"heads\":2", "\"heads\":3", "heads_per_kv_head");
  refused("\"heads\":2", "\"heads\":0", "heads");
  refused("\"heads\":2", "\"heads\":-2", "heads");
  refused("\"heads\":2", "\"heads\":2.5", "heads");
  refused("\"heads\":2", "\"heads\":1e9", "heads");
  refused("\"heads\":2", "\"heads\":99999999999999999999", "heads");
  refused("\"heads\":2", "\"heads\":\"2\"", "heads");
  refused("\"heads\":2", "\"heads\":2,\"heads\":2", "twice");
  refused("\"heads\":2", "\"haeds\":2", "'heads'");
  refused("\"workers\":3", "\"workers\":1", "worker");
  refused("\"dispatch\":\"static\"", "\"dispatch\":\"some\"", "dispatch");
  refused("\"dispatch\":\"static\"", "\"dispatch\":\"dynamic\"", "worker");
  refused("\"+..\"", "\"+.\"", "has 3 tiles");
  refused("\"+..\"", "\"+.?\"", "character");
  refused("\"q_order\":[0,1,2]", "\"q_order\":[0,1]", "missing");
  refused("\"q_order\":[0,1,2]", "\"q_order\":[0,1,1]", "twice");
  refused("\"q_order\":[0,1,2]", "\"q_order\":[0,1,7]", "tile 7 at head 0, KV tile 0");
  refused("\"q_order\":[0,1,2]", "\"q_order\":[0,1,2,9]", "attended tiles only");
  refused("\"q_order\":[0,1,2]", "\"q_order\":[0,1,null]", "integers");
  refused("\"head\":1,\"q_tile\":2", "\"head\":1,\"q_tile\":1", "twice");
  refused("\"head\":1,\"q_tile\":2", "\"head\":1,\"q_tile\":3", "Q tiles 0..2");
}

}  // namespace block_mask_test

// Tables of chains of KV heads, natten-sim.schedule-table/2: by hand.
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/flat_schedule.hpp>
#include <natten_sim/io/schedule_table.hpp>

#include "catch.hpp"

namespace merged_table_test {

using namespace natten_sim;

/// Two query heads of one KV head, two causal tiles: KV tile 0 takes head 0's tiles, then head 1's backwards.
const std::string kMergedTable =
    R"({"schema":"natten-sim.schedule-table/2","q_tiles":2,"kv_tiles":2,"heads":2,"heads_per_kv_head":2,
        "workers":2,"dispatch":"dynamic","mask":["+.","#+"],
        "chains":[{"kv_head":0,"kv_tile":0,"q_order":[[0,0],[0,1],[1,1],[1,0]]},
                  {"kv_head":0,"kv_tile":1,"q_order":[[1,1],[0,1]]}],
        "dq_order":[{"head":0,"q_tile":0,"kv_order":[0]},{"head":0,"q_tile":1,"kv_order":[0,1]},
                    {"head":1,"q_tile":0,"kv_order":[0]},{"head":1,"q_tile":1,"kv_order":[1,0]}]})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kMergedTable;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a table of version 2 has chains of KV heads, whose Q order names query heads") {
  const ScheduleTable table = parse_schedule_table(kMergedTable, "test");
  CHECK(table.problem.heads == 1);
  CHECK(table.problem.merged_heads == 2);
  CHECK(table.problem.heads_per_kv_head == 1);
  CHECK(table.problem.mask.q_tiles == 4);  // those of head 0, then those of head 1
  CHECK(table.schedule.chains[0].q_order == std::vector<std::int32_t>{0, 1, 3, 2});
  CHECK(table.schedule.chains[1].q_order == std::vector<std::int32_t>{3, 1});
  CHECK(table.schedule.dq_order[3] == std::vector<std::int32_t>{1, 0});
}

TEST_CASE("a table of version 2 is written as it was read, and one head a chain stays version 1") {
  const ScheduleTable table = parse_schedule_table(kMergedTable, "test");
  const std::string text = to_json(table);
  CHECK(text.find("schedule-table/2") != std::string::npos);
  CHECK(to_json(parse_schedule_table(text, "again")) == text);
  ScheduleTable plain;
  plain.problem.mask = {1, 1, {TileWork::kFull}};
  plain.schedule = {.chains = {{0, 0, {0}}}, .dq_order = {{0}}};
  CHECK(to_json(plain).find("schedule-table/1") != std::string::npos);
}

TEST_CASE("a table of version 2 that contradicts itself is refused") {
  CHECK_THROWS_AS(parse_schedule_table(with("[1,1],[1,0]", "[2,1],[1,0]"), "test"), InvalidParameter);
  CHECK_THROWS_AS(parse_schedule_table(with("[1,1],[1,0]", "[1,2],[1,0]"), "test"), InvalidParameter);
  CHECK_THROWS_AS(parse_schedule_table(with("[1,1],[1,0]", "[1,1],1"), "test"), InvalidParameter);
  CHECK_THROWS_AS(parse_schedule_table(with("\"heads_per_kv_head\":2", "\"heads_per_kv_head\":1"), "test"),
                  InvalidParameter);
  CHECK_THROWS_AS(
      parse_schedule_table(with("\"kv_head\":0,\"kv_tile\":0", "\"head\":0,\"kv_tile\":0"), "test"),
      MalformedData);
  CHECK_THROWS_AS(parse_schedule_table(with("\"kv_head\":0", "\"kv_head\":2000000000"), "test"),
                  InvalidParameter);
}

TEST_CASE("arrays of merged heads name the query head of every task") {
  const FlatSchedule flat = flatten(parse_schedule_table(kMergedTable, "test"));
  std::vector<std::int32_t> heads, tiles, ranks;
  for (const FlatSchedule::Task& task : flat.tasks) {
    heads.push_back(task.head);
    tiles.push_back(task.q_tile);
    ranks.push_back(task.rank);
  }
  CHECK(heads == std::vector<std::int32_t>{0, 0, 1, 1, 1, 0});
  CHECK(tiles == std::vector<std::int32_t>{0, 1, 1, 0, 1, 1});
  CHECK(ranks == std::vector<std::int32_t>{0, 0, 1, 0, 0, 1});
  const std::string bytes = schedule_binary(parse_schedule_table(kMergedTable, "test"));
  CHECK(bytes.substr(0, 8) == std::string("NSCHED\2\0", 8));
  CHECK(bytes.size() == 8 + 4 * (10 + 2 + 2 + 2 + 3 + 6 + 6 + 6));  // ten integers and seven arrays
}

}  // namespace merged_table_test

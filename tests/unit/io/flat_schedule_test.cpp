// Schedules as arrays for kernels: by hand, and against the table that they were made from.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <natten_sim/io/flat_schedule.hpp>

#include "catch.hpp"

namespace flat_schedule_test {

using namespace natten_sim;

/// Two causal tiles, one head, two workers: KV tile 1 on worker 0, KV tile 0 on worker 1, which takes Q tile
/// 1 first; dQ of Q tile 1 by KV tile 1, then 0.
ScheduleTable small_table() {
  ScheduleTable table;
  table.problem.mask.q_tiles = table.problem.mask.kv_tiles = 2;
  table.problem.mask.work = {TileWork::kPartial, TileWork::kNone, TileWork::kFull, TileWork::kPartial};
  table.problem.heads = 1;
  table.problem.workers = 2;
  table.schedule.dispatch = Dispatch::kStatic;
  table.schedule.chains = {{0, 0, {1, 0}}, {0, 1, {1}}};
  table.schedule.worker = {1, 0};
  table.schedule.dq_order = {{0}, {1, 0}};
  return table;
}

TEST_CASE("a flat schedule lists chains by worker, with the rank of each task in its dQ tile") {
  const FlatSchedule flat = flatten(small_table());
  CHECK(flat.worker_begin == std::vector<std::int32_t>{0, 1, 2});
  REQUIRE(flat.chains.size() == 2);
  CHECK(flat.chains[0].kv_tile == 1);
  CHECK(flat.chains[1].kv_tile == 0);
  CHECK(flat.task_begin == std::vector<std::int32_t>{0, 1, 3});
  REQUIRE(flat.tasks.size() == 3);
  CHECK((flat.tasks[0].q_tile == 1 && flat.tasks[0].rank == 0));  // KV tile 1 reduces first
  CHECK((flat.tasks[1].q_tile == 1 && flat.tasks[1].rank == 1));
  CHECK((flat.tasks[2].q_tile == 0 && flat.tasks[2].rank == 0));
  ScheduleTable unordered = small_table();
  unordered.schedule.dispatch = Dispatch::kDynamic;
  unordered.schedule.worker.clear();
  unordered.schedule.dq_order.clear();
  const FlatSchedule launched = flatten(unordered);
  CHECK(launched.worker_begin == std::vector<std::int32_t>{0, 2});
  CHECK(launched.chains[0].kv_tile == 0);  // in launch order
  for (const FlatSchedule::Task& task : launched.tasks) CHECK(task.rank == -1);
}

TEST_CASE("the binary of a schedule is eight bytes, ten integers and the arrays, little-endian") {
  const std::string bytes = schedule_binary(small_table());
  CHECK(bytes.substr(0, 8) == std::string("NSCHED\1\0", 8));
  std::vector<int> values;
  for (std::size_t at = 8; at < bytes.size(); at += 4) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    values.push_back(static_cast<int>(value));
  }
  CHECK(values == std::vector<int>{2, 2, 1, 1, 2, 1, 1, 3, 2, 3,  // sizes
                                   0, 1, 2,                       // worker_begin
                                   0, 0, 1, 0,                    // heads and KV tiles of chains
                                   0, 1, 3,                       // task_begin
                                   1, 1, 0, 0, 1, 0});            // Q tiles and ranks
}

TEST_CASE("the header of a schedule compiles as C++11, and its arrays are those of the schedule") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "natten_sim_schedule_header";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "schedule.hpp") << schedule_header(small_table());
  std::ofstream(folder / "main.cpp") << R"(#include "schedule.hpp"
using namespace natten_sim_schedule;
static_assert(kQTiles == 2 && kKvTiles == 2 && kHeads == 1 && kHeadsPerKvHead == 1, "sizes");
static_assert(kWorkers == 2 && kChains == 2 && kTasks == 3 && kStatic, "sizes");
static_assert(sizeof(worker_begin) / sizeof(int) == 3 && sizeof(task_rank) / sizeof(int) == 3, "lengths");
int main() {
  const bool chains = worker_begin[1] == 1 && chain_head[1] == 0 && chain_kv_tile[0] == 1 && task_begin[2] == 3;
  return chains && task_q_tile[2] == 0 && task_rank[1] == 1 ? 0 : 1;
}
)";
  const std::string program = (folder / "main").string();
  const std::string compile =
      "c++ -std=c++11 -Wall -Werror -o '" + program + "' '" + (folder / "main.cpp").string() + "'";
  REQUIRE(std::system(compile.c_str()) == 0);
  CHECK(std::system(("'" + program + "'").c_str()) == 0);
  std::filesystem::remove_all(folder);
}

}  // namespace flat_schedule_test

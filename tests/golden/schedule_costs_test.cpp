// Schedules with measured costs by name, and schedules as arrays.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace schedule_costs_test {

using namespace natten_sim::test;

const std::string kProblem = "schedule -i 2048 --q-tile 64 -n 4 --workers 20 --mask causal --algorithm spt ";

TEST_CASE("costs by name are those of their file, in microseconds") {
  const Json file =
      Json::parse(read_text(std::string(natten_sim::test::kSourceDir) + "/data/schedule-costs/fa4-h200-d128.json"));
  const Json& causal = file["tasks"][1];
  REQUIRE(causal["masks"][0] == "causal");
  std::string flags = "--overlap async:" + std::to_string(file["writer_stages"].get<int>());
  for (const auto& [flag, field] :
       {std::pair{"--compute", "compute_us"}, std::pair{"--compute-partial", "compute_partial_us"},
        std::pair{"--reduce", "reduce_us"}, std::pair{"--tax", "turn_us"},
        std::pair{"--handoff", "handoff_us"}, std::pair{"--prologue", "prologue_us"},
        std::pair{"--epilogue", "epilogue_us"}})
    flags += " " + std::string(flag) + " " + std::to_string(causal[field].get<double>());
  const Json named = result_of(kProblem + "--costs fa4-h200-d128");
  CHECK(named == result_of(kProblem + flags));
  CHECK(named["makespan"].get<double>() > 0);
  // What it echoes repeats it.
  const Json input = Json::parse(run(kProblem + "--costs fa4-h200-d128 --json").out)["input"];
  CHECK(input["compute"] == causal["compute_us"]);
}

TEST_CASE("costs by name ask for their own tiles, and stand alone") {
  check_refused("schedule -i 2048 --q-tile 128 --mask causal --costs fa4-h200-d128", {"128x128", "64x128"});
  check_refused(kProblem + "--costs fa4-h200-d128 --reduce 2", {"costs", "reduce"});
  check_refused(kProblem + "--costs fa5", {"fa5", "fa4-h200-d128"});
}

TEST_CASE("a schedule is written as arrays, from an algorithm and from its table alike") {
  const std::string folder = scratch_folder();
  const std::string small =
      "schedule --q-tiles 3 --heads 2 --workers 3 --mask causal --algorithm symmetric-shift";
  REQUIRE(run(small + " --emit-table " + folder + "/t.json --emit-header " + folder +
              "/a.hpp --emit-binary " + folder + "/a.bin")
              .exit_code == 0);
  REQUIRE(run("schedule --table " + folder + "/t.json --emit-header " + folder + "/b.hpp --emit-binary " +
              folder + "/b.bin")
              .exit_code == 0);
  CHECK(read_text(folder + "/a.hpp") == read_text(folder + "/b.hpp"));
  CHECK(read_text(folder + "/a.bin") == read_text(folder + "/b.bin"));
  // Two heads of six causal tasks: 8 + 4 * (10 + 4 + 6 + 6 + 7 + 12 + 12) bytes.
  CHECK(read_text(folder + "/a.bin").size() == 236);
  check_refused("schedule --q-tiles 3 --mask causal --emit-header " + folder + "/c.hpp",
                {"emit-header", "all"});
}

/// The arrays of a binary, read as docs/schedule-tables.md describes it, by another way than the one that wrote it.
struct ReadBack {
  std::vector<int> sizes, worker_begin, chain_head, chain_kv_tile, task_begin, task_q_tile, task_rank,
      task_head;
};

ReadBack read_binary(const std::string& path) {
  const std::string bytes = read_text(path);
  REQUIRE(bytes.size() >= 48);
  REQUIRE(bytes.size() % 4 == 0);
  REQUIRE(bytes.substr(0, 6) == "NSCHED");
  std::size_t at = 8;
  const auto take = [&](std::size_t count) {
    std::vector<int> values;
    for (; count > 0; --count, at += 4) {
      REQUIRE(at + 4 <= bytes.size());
      std::uint32_t value = 0;
      for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
      values.push_back(static_cast<int>(value));
    }
    return values;
  };
  ReadBack back;
  back.sizes = take(10);
  const auto chains = static_cast<std::size_t>(back.sizes[8]),
             tasks = static_cast<std::size_t>(back.sizes[9]);
  back.worker_begin = take(static_cast<std::size_t>(back.sizes[7]));
  back.chain_head = take(chains);
  back.chain_kv_tile = take(chains);
  back.task_begin = take(chains + 1);
  back.task_q_tile = take(tasks);
  back.task_rank = take(tasks);
  if (bytes[6] == 2) back.task_head = take(tasks);
  CHECK(at == bytes.size());
  return back;
}

/// dQ orders by head and Q tile, made of ranks.
using DqOrders = std::map<std::pair<int, int>, std::vector<int>>;

DqOrders dq_orders_of(const ReadBack& back) {
  DqOrders orders;
  for (std::size_t chain = 0; chain + 1 < back.task_begin.size(); ++chain) {
    for (auto task = static_cast<std::size_t>(back.task_begin[chain]);
         task < static_cast<std::size_t>(back.task_begin[chain + 1]); ++task) {
      const int head = back.task_head.empty() ? back.chain_head[chain] : back.task_head[task];
      std::vector<int>& order = orders[{head, back.task_q_tile[task]}];
      const auto rank = static_cast<std::size_t>(back.task_rank[task]);
      if (order.size() <= rank) order.resize(rank + 1, -1);
      CHECK(order[rank] == -1);  // no rank twice
      order[rank] = back.chain_kv_tile[chain];
    }
  }
  return orders;
}

TEST_CASE("a binary that is read back has the chains, visits and dQ orders of its table") {
  const std::string folder = scratch_folder();
  for (const std::string options :
       {"--q-tiles 5 --heads 3 --workers 4 --mask causal --algorithm symmetric-shift",
        "--q-tiles 5 --heads 3 --workers 4 --mask causal --algorithm spt",
        "--q-tiles 4 --kv-tiles 6 --heads 4 --heads-kv 2 --mask window:1,1 --algorithm best",
        "--q-tiles 4 --heads 4 --heads-kv 2 --gqa-chains kv-heads --mask causal --algorithm spt",
        "-i 640 --mask varlen:causal:256,128,256 --algorithm descending"}) {
    INFO(options);
    REQUIRE(
        run("schedule " + options + " --emit-table " + folder + "/t.json --emit-binary " + folder + "/t.bin")
            .exit_code == 0);
    const Json table = Json::parse(read_text(folder + "/t.json"));
    const ReadBack back = read_binary(folder + "/t.bin");
    const bool merged = !back.task_head.empty(), fixed = back.sizes[5] == 1;
    std::vector<Json> chains;  // with tasks, by worker when static
    for (int worker = 0; worker < (fixed ? back.sizes[4] : 1); ++worker) {
      CHECK(back.worker_begin[static_cast<std::size_t>(worker)] == static_cast<int>(chains.size()));
      for (const Json& chain : table["chains"])
        if (!chain["q_order"].empty() && (!fixed || chain["worker"] == worker)) chains.push_back(chain);
    }
    CHECK(back.worker_begin.back() == static_cast<int>(chains.size()));
    REQUIRE(back.chain_head.size() == chains.size());
    for (std::size_t i = 0; i < chains.size(); ++i) {
      CHECK(chains[i][merged ? "kv_head" : "head"] == back.chain_head[i]);
      CHECK(chains[i]["kv_tile"] == back.chain_kv_tile[i]);
      std::vector<Json> visits;
      for (auto task = static_cast<std::size_t>(back.task_begin[i]);
           task < static_cast<std::size_t>(back.task_begin[i + 1]); ++task) {
        visits.push_back(merged ? Json{back.task_head[task], back.task_q_tile[task]}
                                : Json(back.task_q_tile[task]));
      }
      CHECK(Json(visits) == chains[i]["q_order"]);
    }
    DqOrders theirs;
    for (const Json& entry : table["dq_order"])
      if (!entry["kv_order"].empty())
        theirs[{entry["head"], entry["q_tile"]}] = entry["kv_order"].get<std::vector<int>>();
    CHECK(dq_orders_of(back) == theirs);
  }
}

}  // namespace schedule_costs_test

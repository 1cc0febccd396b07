// Tables of schedules: what the program writes it reads again, what others write is checked whole.
#include <functional>

#include "catch.hpp"
#include "program.hpp"

namespace schedule_table_test {

using namespace natten_sim::test;

const std::string kCosts = " --compute 7 --reduce 2 --handoff 1,3";

void check_refused(const std::string& path, const std::vector<std::string>& words) {
  INFO(read_text(path).substr(0, 400));
  natten_sim::test::check_refused("schedule --table " + path, words);
}

/// Three causal tiles, two heads, three workers, static.
std::string emitted(const std::string& path) {
  REQUIRE(run("schedule --q-tiles 3 --heads 2 --mask causal --algorithm symmetric-shift --emit-table " + path)
              .exit_code == 0);
  return read_text(path);
}

TEST_CASE("a table runs as the algorithm that wrote it did") {
  for (const std::string problem :
       {"--q-tiles 5 --heads 3 --workers 4 --mask causal", "--q-tiles 4 --heads 4 --heads-kv 2 --mask causal",
        "--q-tiles 3 --kv-tiles 5 --heads 2 --mask window:1,1", "--q-tiles 4 --kv-tiles 2 --mask full"}) {
    for (const std::string algorithm : {"ascending", "descending", "spt", "shift", "unordered", "best"}) {
      for (const std::string dispatch : {"", " --dispatch static"}) {
        const std::string path = scratch_folder() + "/table.json";
        INFO(problem << " " << algorithm << dispatch);
        Json written = result_of("schedule " + problem + kCosts + dispatch + " --algorithm " + algorithm +
                                 " --effort 20 --emit-table " + path);
        Json read = result_of("schedule --table " + path + kCosts);
        CHECK(read["algorithm"] == "table");
        // The formula belongs to the algorithm; a table does not carry the proof of an exhausted search.
        for (const char* field : {"makespan", "total_work", "utilization", "bubble", "dispatch", "ordered"})
          CHECK(read[field] == written[field]);
        CHECK(read["lower_bound"].get<double>() <= written["lower_bound"].get<double>());
      }
    }
  }
}

TEST_CASE("the table's fields are those of its documentation") {
  const Json table = Json::parse(emitted(scratch_folder() + "/table.json"));
  std::vector<std::string> keys;
  for (const auto& [key, value] : table.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"schema", "version", "q_tiles", "kv_tiles", "heads",
                                         "heads_per_kv_head", "workers", "dispatch", "mask", "chains",
                                         "dq_order"});
  CHECK(table["schema"] == "natten-sim.schedule-table/1");
  CHECK(table["mask"] == Json({"+..", "#+.", "##+"}));
  CHECK(table["chains"].size() == 2 * 3);
  CHECK(table["dq_order"].size() == 2 * 3);
  for (const Json& chain : table["chains"]) CHECK(chain.size() == 4);
}

TEST_CASE("a foreign table runs: keys and entries in any order, no version, digits for tiles") {
  const std::string path = scratch_folder() + "/foreign.json";
  write_text(
      path,
      R"({"dispatch": "dynamic", "workers": 2, "heads": 1, "heads_per_kv_head": 1, "kv_tiles": 2, "q_tiles": 2, "mask": ["11", "1 1"],
    "schema": "natten-sim.schedule-table/1",
    "dq_order": [{"head": 0, "q_tile": 1, "kv_order": [1, 0]}, {"head": 0, "q_tile": 0, "kv_order": [0, 1]}],
    "chains": [{"head": 0, "kv_tile": 0, "q_order": [0, 1]}, {"head": 0, "kv_tile": 1, "q_order": [1, 0]}]})");
  const Json result = result_of("schedule --table " + path + " --compute 7 --reduce 2");
  CHECK(result["makespan"] == 2 * (7 + 2));  // shifted: nobody waits
  CHECK(result["optimality_gap"] == 0);
  CHECK(run("schedule --table - --json", read_text(path)).exit_code == 0);
  // More workers change nothing; one worker cannot start what the first chain waits for.
  CHECK(result_of("schedule --table " + path + " --compute 7 --reduce 2 --workers 9")["makespan"] == 18);
  const auto one = run("schedule --table " + path + " --workers 1");
  CHECK(one.exit_code == 2);
  CHECK(one.out.empty());
  CHECK(one.err.find("no worker can start") != std::string::npos);
}

TEST_CASE("a static table needs the workers that it assigns") {
  const std::string path = scratch_folder() + "/table.json";
  (void)emitted(path);
  const auto fewer = run("schedule --table " + path + " --workers 1");
  CHECK(fewer.exit_code == 2);
  CHECK(fewer.err.find("3 or more: the table's dispatch is static") != std::string::npos);
  CHECK(run("schedule --table " + path + " --workers 4").exit_code == 0);
}

TEST_CASE("a cyclic table is refused with the chain of waits") {
  const std::string path = scratch_folder() + "/cycle.json";
  write_text(
      path,
      R"({"schema": "natten-sim.schedule-table/1", "q_tiles": 2, "kv_tiles": 2, "heads": 1, "heads_per_kv_head": 1, "workers": 2,
    "dispatch": "static", "mask": ["##", "##"],
    "chains": [{"head": 0, "kv_tile": 0, "worker": 0, "q_order": [0, 1]}, {"head": 0, "kv_tile": 1, "worker": 1, "q_order": [1, 0]}],
    "dq_order": [{"head": 0, "q_tile": 0, "kv_order": [1, 0]}, {"head": 0, "q_tile": 1, "kv_order": [0, 1]}]})");
  check_refused(path, {"deadlock", "Q tile 0 behind KV tile 1", "Q tile 1 behind KV tile 0", "a cycle"});
}

TEST_CASE("a table with one thing wrong is refused with the reason") {
  const std::string path = scratch_folder() + "/table.json";
  const Json good = Json::parse(emitted(path));
  const auto refused = [&](const std::function<void(Json&)>& spoil, const std::vector<std::string>& words) {
    Json bad = good;
    spoil(bad);
    write_text(path, bad.dump());
    check_refused(path, words);
  };
  refused([](Json& t) { t["chains"][0]["q_order"].erase(0); }, {"q_order", "missing at head 0, KV tile 0"});
  refused([](Json& t) { t["chains"][0]["q_order"].push_back(0); },
          {"q_order", "tile 0 twice at head 0, KV tile 0"});
  refused([](Json& t) { t["chains"][0]["q_order"][0] = 99; }, {"q_order", "head 0, KV tile 0"});
  refused([](Json& t) { t["chains"][0]["q_order"][0] = -1; }, {"q_order", "head 0, KV tile 0"});
  refused([](Json& t) { t["chains"][1]["q_order"][0] = 0; }, {"q_order", "head 0, KV tile 2"});  // masked out
  refused([](Json& t) { t["chains"][0]["q_order"][0] = 1.5; }, {"q_order", "integers"});
  refused([](Json& t) { t["chains"][0]["q_order"][0] = 1e30; }, {"q_order", "integers"});
  refused([](Json& t) { t["chains"][0]["q_order"][0] = "1"; }, {"q_order", "integers"});
  refused([](Json& t) { t["chains"].erase(0); }, {"chains", "5", "6"});
  refused([](Json& t) { t["chains"][1] = t["chains"][0]; }, {"chains", "head 0, KV tile 0 twice"});
  refused([](Json& t) { t["chains"][0]["head"] = 2; }, {"chains", "heads 0..1"});
  refused([](Json& t) { t["chains"][0]["kv_tile"] = -1; }, {"chains", "KV tiles 0..2"});
  refused([](Json& t) { t["chains"][0]["worker"] = 3; }, {"worker", "0..2"});
  refused([](Json& t) { t["chains"][0]["worker"] = -1; }, {"worker", "0..2"});
  refused([](Json& t) { t["chains"][0].erase("worker"); }, {"chain 0: 'worker' is missing"});
  refused([](Json& t) { t["chains"][0]["q_oder"] = 1; }, {"q_oder", "'q_order'"});
  refused([](Json& t) { t["dispatch"] = "dynamic"; },
          {"worker", "chain 0"});  // which has no assigned workers
  refused([](Json& t) { t["dispatch"] = "magic"; }, {"magic", "'static'"});
  refused([](Json& t) { t["dq_order"].erase(0); }, {"dq_order", "5", "6"});
  refused([](Json& t) { t["dq_order"] = Json::array(); }, {"dq_order", "0", "6"});
  refused([](Json& t) { t["dq_order"][1] = t["dq_order"][0]; }, {"dq_order", "head 0, Q tile 0 twice"});
  refused([](Json& t) { t["dq_order"][0]["q_tile"] = 3; }, {"dq_order", "Q tiles 0..2"});
  refused([](Json& t) { t["dq_order"][2]["kv_order"].erase(0); },
          {"dq_order", "missing at head 0, Q tile 2"});
  refused([](Json& t) { t["dq_order"][2]["kv_order"].push_back(0); },
          {"dq_order", "twice at head 0, Q tile 2"});
  refused([](Json& t) { t["dq_order"][2]["kv_order"] = nullptr; }, {"kv_order", "array"});
  refused([](Json& t) { t["mask"][0] = "+"; }, {"line 2"});
  refused([](Json& t) { t["mask"][0] = "+.?"; }, {"line 1"});
  refused([](Json& t) { t["mask"][0] = "##."; }, {"missing"});  // a task that no order has
  refused([](Json& t) { t["mask"][0] = 3; }, {"mask"});
  refused([](Json& t) { t["q_tiles"] = 4; }, {"q_tiles", "3"});
  refused([](Json& t) { t["heads"] = 0; }, {"heads", "1 or more"});
  refused([](Json& t) { t["heads"] = 3; }, {"dq_order", "9, heads times Q tiles"});
  refused([](Json& t) { t["heads_per_kv_head"] = 3; }, {"heads_per_kv_head", "divisor"});
  refused([](Json& t) { t["workers"] = 0; }, {"workers"});
  refused([](Json& t) { t["workers"] = 2; }, {"worker", "0..1"});
  refused([](Json& t) { t["workers"] = 1000000000; }, {"workers", "1048576"});
  refused([](Json& t) { t["schema"] = "natten-sim.schedule-table/3"; },
          {"schema", "natten-sim.schedule-table/1"});
  for (const std::string key : {"schema", "q_tiles", "kv_tiles", "heads", "heads_per_kv_head", "workers",
                                "dispatch", "mask", "chains", "dq_order"})
    refused([&](Json& t) { t.erase(key); }, {"'" + key + "' is missing"});
  refused([](Json& t) { t["wrokers"] = 3; }, {"wrokers", "'workers'"});
  refused([](Json& t) { t = Json::array({t}); }, {"a JSON object"});
  refused([](Json& t) { t = nullptr; }, {"a JSON object"});
}

TEST_CASE("text that is no JSON is refused: truncated at any line, repeated keys, NaN, bytes") {
  const std::string path = scratch_folder() + "/table.json";
  const std::string good = emitted(path);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    REQUIRE(text.find(from) != std::string::npos);
    return text.replace(text.find(from), from.size(), to);
  };
  for (std::size_t at = 0; at + 2 < good.size(); at = good.find('\n', at + 1)) {
    write_text(path, good.substr(0, at));
    check_refused(path, {"not JSON"});
  }
  for (const auto& [text, word] : std::vector<std::pair<std::string, std::string>>{
           {replaced("\"workers\":3", "\"workers\":NaN"), "not JSON"},
           {replaced("\"workers\":3", "\"workers\":3,\"workers\":3"), "'workers' appears twice"},
           {replaced("\"kv_tile\":0", "\"kv_tile\":0,\"kv_tile\":0"), "'kv_tile' appears twice"},
           {good + "{}", "not JSON"},
           {std::string("\xff\xfe\0", 3), "table"},
           {std::string(100000, '['), "nested"}}) {
    write_text(path, text);
    check_refused(path, {word});
  }
  CHECK(run("schedule --table /nonexistent.json").exit_code == 2);
}

TEST_CASE("a table brings its own problem: other sizes, masks and algorithms beside it are refused") {
  const std::string path = scratch_folder() + "/table.json";
  (void)emitted(path);
  for (const std::string other :
       {"--mask full", "--q-tiles 3", "-i 300", "--heads 2", "--algorithm best", "--dispatch static",
        "--effort 3", "--emit-table x", "--launch-order heads"}) {
    const auto done = run("schedule --table " + path + " " + other);
    INFO(other << "\n" << done.err);
    CHECK(done.exit_code == 2);
    CHECK(done.out.empty());
    CHECK(done.err.find("cannot be combined with --table") != std::string::npos);
  }
}

}  // namespace schedule_table_test

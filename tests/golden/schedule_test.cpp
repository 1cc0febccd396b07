#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "program.hpp"

namespace schedule_test {

using namespace natten_sim::test;

const std::vector<std::string> kAlgorithms = {"ascending",  "descending", "spt",        "outside-in",
                                              "first-come", "shift",      "wave-shift", "symmetric-shift",
                                              "fa2-split",  "two-pass",   "unordered",  "best"};

void check_refused(const std::string& line, const std::vector<std::string>& words) {
  natten_sim::test::check_refused("schedule " + line, words);
}

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

double makespan_of(const std::string& line) {
  return result_of("schedule " + line)["makespan"].get<double>();
}

/// Tasks of a problem: each costs one unit of compute and nothing else.
double tasks_of(const std::string& line) {
  return result_of("schedule " + line +
                   " --algorithm ascending --compute 1 --reduce 0 --workers 3")["total_work"]
      .get<double>();
}

TEST_CASE("schedule: the result has exactly the fields of its contract, with their types") {
  const std::string line = "schedule --q-tiles 4 --mask causal --algorithm spt --compute 7 --reduce 2";
  const std::set<std::string> expected = {
      "algorithm",      "ordered",    "makespan",        "lower_bound", "lower_bound_by", "optimality_gap",
      "utilization",    "total_work", "bubble",          "closed_form", "deadlock",       "hang_free",
      "not_applicable", "dispatch",   "heads_in_flight", "proved",      "workspace_bytes"};
  const Json plain = result_of(line);
  CHECK(keys_of(plain) == expected);
  CHECK(keys_of(plain["bubble"]) == std::set<std::string>{"startup", "wait_for_turn", "tail"});
  for (const char* field :
       {"makespan", "lower_bound", "optimality_gap", "utilization", "total_work", "closed_form"})
    CHECK(plain[field].is_number());
  for (const auto& [name, value] : plain["bubble"].items()) CHECK(value.is_number());
  CHECK(plain["deadlock"].is_null());
  CHECK(plain["hang_free"] == "any_workers");
  CHECK(plain["not_applicable"].is_null());
  CHECK(plain["dispatch"] == "dynamic");
  CHECK(plain["ordered"] == true);
  Json asked = result_of(line + " --critical-path");
  REQUIRE(asked["critical_path"].is_array());
  for (const Json& step : asked["critical_path"]) {
    CHECK(keys_of(step) == std::set<std::string>{"head", "kv_tile", "q_tile", "phase", "start", "end"});
    CHECK((step["phase"] == "compute" || step["phase"] == "reduce"));
  }
  asked.erase("critical_path");
  CHECK(asked == plain);
}

TEST_CASE("schedule: makespans are those of the published formulas, and closed_form says so") {
  for (const int n : {2, 4, 7}) {
    for (const int m : {1, 2, 4}) {
      const double c = 7, r = 2;
      const std::string size = "--q-tiles " + std::to_string(n) + " --heads " + std::to_string(m) +
                               " --compute 7 --reduce 2 --mask ";
      const auto check = [&](const std::string& what, double expected) {
        INFO(size << what);
        const Json result = result_of("schedule " + size + what);
        CHECK(result["makespan"] == expected);
        CHECK(result["closed_form"] == expected);
      };
      check("full --algorithm ascending", m * n * (c + r) + (n - 1) * r);
      check("causal --algorithm ascending", m * n * (c + r) + (n - 1) * r);
      check("causal --algorithm ascending --dispatch static", m * n * (c + r) + (n - 1) * r);
      check("full --algorithm shift", m * n * (c + r));
      check("causal --algorithm descending --dispatch static", m * n * (c + r));
      if (m % 2 == 0) {
        check("causal --algorithm descending", m * (n + 1) * (c + r) / 2 + (n - 1) * r);
        check("causal --algorithm symmetric-shift", m * (n + 1) * (c + r) / 2);
      }
    }
  }
  // Outside its conditions no form is claimed: odd heads.
  CHECK(result_of("schedule --q-tiles 4 --heads 3 --mask causal --algorithm descending")["closed_form"]
            .is_null());
  CHECK(result_of(
            "schedule --q-tiles 4 --heads 2 --mask causal --algorithm descending --reduce 2")["closed_form"]
            .is_null());
}

TEST_CASE("schedule: work and bubbles fill the time of all serial workers") {
  for (const std::string line :
       {"--q-tiles 5 --heads 3 --workers 4 --mask causal --compute 7 --reduce 2 --tax 1 --handoff 3,5",
        "--q-tiles 6 --kv-tiles 4 --heads 2 --workers 3 --mask window:1,1 --compute 3 --compute-partial 2",
        "--q-tiles 4 --heads 4 --heads-kv 2 --mask causal --compute 3 --reduce-kv 5"}) {
    const Json object = Json::parse(run("schedule " + line + " --json").out);
    const double workers = object["input"]["workers"].get<double>();
    for (const Json& row : object["result"]["algorithms"]) {
      // Two passes have barriers between them; symmetric-shift refuses windows.
      if (row["makespan"].is_null() || row["algorithm"] == "fa2-split" || row["algorithm"] == "two-pass")
        continue;
      INFO(line << "\n" << row.dump());
      double sum = row["total_work"].get<double>();
      for (const auto& [name, value] : row["bubble"].items()) sum += value.get<double>();
      CHECK(sum == workers * row["makespan"].get<double>());
      CHECK(row["utilization"] ==
            row["total_work"].get<double>() / (workers * row["makespan"].get<double>()));
    }
  }
}

TEST_CASE("schedule --algorithm all: every algorithm once, best is no later than any ordered one") {
  for (const std::string line :
       {"--q-tiles 5 --heads 3 --workers 4 --mask causal", "--q-tiles 4 --heads 2 --mask full",
        "--q-tiles 9 --heads 2 --workers 5 --mask document:3,5,1"}) {
    INFO(line);
    const Json rows = result_of("schedule " + line + " --compute 7 --reduce 2 --algorithm all")["algorithms"];
    REQUIRE(rows.size() == kAlgorithms.size());
    const double best = rows.back()["makespan"].get<double>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(rows[i]["algorithm"] == kAlgorithms[i]);
      const bool reference =
          kAlgorithms[i] == "fa2-split" || kAlgorithms[i] == "two-pass" || kAlgorithms[i] == "unordered";
      CHECK(rows[i]["ordered"] == !reference);
      if (rows[i]["makespan"].is_null()) {
        CHECK(kAlgorithms[i] == "symmetric-shift");
        CHECK(rows[i]["not_applicable"].get<std::string>().find("causal") != std::string::npos);
        continue;
      }
      CHECK(rows[i]["makespan"].get<double>() >= rows[i]["lower_bound"].get<double>());
      if (!reference) CHECK(best <= rows[i]["makespan"].get<double>());
      // One of them alone says the same.
      CHECK(result_of("schedule " + line + " --compute 7 --reduce 2 --algorithm " + kAlgorithms[i]) ==
            rows[i]);
    }
    const std::string csv = run("schedule " + line + " --csv").out;
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 13);
    CHECK(csv.starts_with("algorithm,ordered,makespan,lower_bound,"));
  }
}

TEST_CASE("schedule: the critical path starts at 0, has no gaps but handoffs, and ends at the makespan") {
  const std::string line =
      "--q-tiles 4 --heads 2 --mask causal --algorithm ascending --compute 7 --reduce 2 --critical-path";
  for (const double handoff : {0.0, 3.0}) {
    const Json result = result_of("schedule " + line + " --handoff " + std::to_string(handoff));
    double time = 0;
    for (const Json& step : result["critical_path"]) {
      const double gap = step["start"].get<double>() - time;
      CHECK((gap == 0 || gap == handoff));
      CHECK(step["end"].get<double>() - step["start"].get<double>() == (step["phase"] == "compute" ? 7 : 2));
      time = step["end"].get<double>();
    }
    CHECK(time == result["makespan"]);
  }
}

TEST_CASE("schedule: masks have the tasks that their definitions say, in tiles and in tokens") {
  CHECK(tasks_of("--q-tiles 6 --kv-tiles 4 --mask full") == 24);
  CHECK(tasks_of("--kv-tiles 4 --mask full") == 16);
  CHECK(tasks_of("--q-tiles 6 --mask causal") == 6 * 7 / 2);
  CHECK(tasks_of("--q-tiles 4 --kv-tiles 6 --mask causal") == 6 + 5 + 4 + 3);  // the ends are aligned
  CHECK(tasks_of("--q-tiles 6 --kv-tiles 4 --mask causal") ==
        4 + 3 + 2 + 1);  // Q tiles 0 and 1 attend to nothing
  CHECK(tasks_of("--q-tiles 6 --mask window:2,0") == 1 + 2 + 3 + 3 + 3 + 3);
  CHECK(tasks_of("--q-tiles 6 --mask window:0,0") == 6);
  CHECK(tasks_of("--q-tiles 6 --mask window:1,2") == 3 + 4 + 4 + 4 + 3 + 2);
  CHECK(tasks_of("--q-tiles 9 --mask document:3,5,1") == 9 + 25 + 1);
  CHECK(tasks_of("-i 1000 --mask full") == 8 * 8);
  CHECK(tasks_of("-i 1024 --q-tile 64 --mask causal") == 2 * (8 * 9 / 2));
  CHECK(tasks_of("-i 512 --q-tile 128 --mask window:127,0") == 1 + 2 + 2 + 2);
  CHECK(tasks_of("-i 512 --q-tile 128 --mask window:128,0") == 1 + 2 + 2 + 2);
  CHECK(tasks_of("-i 512 --q-tile 128 --mask window:129,0") == 1 + 2 + 3 + 3);
  CHECK(tasks_of("-i 256 --seqlen-k 512 --mask causal") == 3 + 4);
  CHECK(tasks_of("-i 300 --q-tile 100 --kv-tile 100 --mask document:150,150") == 2 + 3 + 2);
}

TEST_CASE("schedule: a neighborhood mask has as many tasks as the counting module counts tiles") {
  for (const auto& [mask, count] : std::map<std::string, std::string>{
           {"gna:i=64,w=16,s=8,q-tile=8,kv-tile=4", "-i 64 -w 16 -s 8 --q-tile 8 --kv-tile 4"},
           {"gna:i=12x10,w=5x4,s=2x1,dilation=2x1,c=0x1,q-tile=3x2,kv-tile=2x3",
            "-i 12 10 -w 5 4 -s 2 1 --dilation 2 1 -c 0 1 --q-tile 3 2 --kv-tile 2 3"},
           {"gna:i=6x8x8,q-tile=2x4x4,kv-tile=3x4x4", "-i 6 8 8 --q-tile 2 4 4 --kv-tile 3 4 4"}}) {
    INFO(mask);
    CHECK(tasks_of("--mask " + mask) == result_of("count " + count)["visited_tiles"].get<double>());
  }
}

TEST_CASE(
    "schedule: a mask file counts its tiles, whatever its line ends, partial ones have their own cost") {
  const std::string path = scratch_folder() + "/mask";
  for (const char* text : {"##.\n.#+\n", "##.\r\n.#+\r\n", "1 1 0\n0 1 +", "##.\n.#+\n\n\r\n"}) {
    write_text(path, text);
    INFO(text);
    CHECK(tasks_of("--mask " + path) == 4);
    CHECK(result_of("schedule --mask " + path +
                    " --algorithm ascending --compute 10 --compute-partial 3 --reduce 0")["total_work"] ==
          33);
  }
  CHECK(run("schedule --mask - --algorithm best --json", "#\n").exit_code == 0);
  write_text(path, "...\n...\n");  // nothing attends
  const Json nothing = result_of("schedule --mask " + path + " --algorithm best");
  CHECK(nothing["makespan"] == 0);
  CHECK(nothing["utilization"].is_null());
  for (const auto& [text, word] : std::map<std::string, std::string>{{"##\n#\n", "line 2"},
                                                                     {"##\n\n##\n", "line 2"},
                                                                     {"", "no tiles"},
                                                                     {"\n\n", "no tiles"},
                                                                     {"#x\n##\n", "line 1"},
                                                                     {std::string("#\0\n", 3), "line 1"}}) {
    write_text(path, text);
    check_refused("--mask " + path, {"mask file", word});
  }
  check_refused("--mask " + scratch_folder(), {"mask"});
  write_text(path, "##\n##\n");
  check_refused("--mask " + path + " --q-tiles 3", {"--q-tiles", "this mask brings its own"});
  check_refused("--mask " + path + " -i 256", {"--seqlen-q", "this mask brings its own"});
}

TEST_CASE("schedule: costs of zero and fractions are exact where they can be") {
  const std::string small = "--q-tiles 3 --algorithm ascending ";
  const Json idle = result_of("schedule " + small + "--compute 0 --reduce 0");
  CHECK(idle["makespan"] == 0);
  CHECK(idle["optimality_gap"] == 0);
  CHECK(idle["utilization"].is_null());
  for (const std::string zero :
       {"--compute 0 --reduce 2", "--compute 7 --reduce 0", "--compute 0 --reduce 0"}) {
    INFO(zero);
    CHECK(run("schedule " + small + zero + " --ascii").exit_code == 0);
    CHECK(run("schedule --q-tiles 3 --mask causal --heads 2 " + zero).exit_code == 0);
  }
  // Halves are exact in binary: half of the makespan in whole units.
  CHECK(makespan_of(small + "--compute 3.5 --reduce 1.0") * 2 ==
        makespan_of(small + "--compute 7 --reduce 2"));
  const double tenths = makespan_of(small + "--compute 0.7 --reduce 0.2");
  CHECK(std::abs(tenths * 10 - makespan_of(small + "--compute 7 --reduce 2")) < 1e-9);
  CHECK(makespan_of(small + "--compute 1e-300 --reduce 0") > 0);
}

TEST_CASE("schedule: handoff, tax and overlap by hand") {
  // Two workers, one Q tile: the second reduction follows the first and its handoff.
  const std::string two = "--q-tiles 1 --kv-tiles 2 --algorithm ascending --compute 5 --reduce 3 ";
  CHECK(makespan_of(two) == 5 + 3 + 3);
  CHECK(makespan_of(two + "--handoff 4") == 5 + 3 + 4 + 3);
  CHECK(makespan_of(two + "--handoff 4,6") == 5 + 3 + 6 + 3);  // workers 0 and 1 are of different parity
  CHECK(makespan_of(two + "--handoff 4 --workers 1") == 2 * (5 + 3));
  CHECK(makespan_of(two + "--tax 1") == 5 + 2 * (3 + 1));
  // One chain of four tasks: reductions hide behind the next compute.
  const std::string chain = "--q-tiles 4 --kv-tiles 1 --algorithm ascending --compute 5 --reduce 3 ";
  CHECK(makespan_of(chain) == 4 * (5 + 3));
  CHECK(makespan_of(chain + "--overlap async:1") == 4 * 5 + 3);
  // Two heads of one KV head: dK/dV one after the other.
  CHECK(makespan_of(
            "--q-tiles 1 --heads 2 --heads-kv 1 --workers 2 --algorithm ascending --compute 5 --reduce 3 "
            "--reduce-kv 4") == 5 + 3 + 4 + 4);
}

TEST_CASE("schedule: the same search gives the same bytes, and effort 0 searches no further") {
  const std::string line =
      "schedule --q-tiles 9 --heads 3 --workers 7 --mask document:3,5,1 --compute 7 --reduce 2 --algorithm "
      "best";
  CHECK(run(line + " --json").out == run(line + " --json").out);
  CHECK(result_of(line + " --effort 0")["makespan"].get<double>() >=
        result_of(line + " --effort 200")["makespan"].get<double>());
}

TEST_CASE("schedule: bad flags name parameter, value and what is accepted") {
  const std::string small = "--q-tiles 4 --algorithm ascending ";
  for (const std::string name : {"compute", "compute-partial", "reduce", "tax", "handoff"}) {
    for (const std::string value : {"-1", "nan", "inf", "-inf", "1e300", "''", "x", "1x"})
      check_refused(small + "--" + name + " " + value, {name, "a number from 0 to 2^53"});
  }
  check_refused(small + "--compute 1e15 --reduce 1", {"costs", "2^53"});
  check_refused(small + "--handoff 1,", {"handoff"});
  check_refused(small + "--handoff 1,2,3", {"handoff", "2,3"});
  check_refused(small + "--overlap async:0", {"overlap", "1..64"});
  check_refused(small + "--overlap asink:2", {"overlap", "asink:2", "serial"});
  check_refused(small + "--workers 0", {"workers", "nearest valid value is 1"});
  check_refused(small + "--workers 4 --device h200", {"--workers", "--device"});
  check_refused(small + "--ctas-per-sm 2", {"--ctas-per-sm", "--device"});
  check_refused(small + "--device hh100", {"did you mean 'h100'?"});
  check_refused(small + "--dispatch sattic", {"dispatch", "static"});
  check_refused(small + "--launch-order sections:0", {"launch-order"});
  check_refused(small + "--launch-order columns", {"launch-order", "columns", "sections:K"});
  check_refused(small + "--effort -1", {"effort", "'-1'"});
  check_refused(small + "--heads 6 --heads-kv 4", {"heads-kv", "divisor"});
  check_refused(small + "--heads 1048577", {"heads", "1..1048576", "nearest valid value is 1048576"});
  check_refused(small + "--heads 1048576 -b 1048576", {"heads"});
  check_refused("--q-tiles 16 --heads 1048576", {"tasks"});
  check_refused("--q-tiles 4 --algorithm bset", {"algorithm", "bset", "did you mean 'best'?"});
  check_refused("--q-tiles 0", {"q-tiles", "1..65536", "nearest valid value is 1"});
  check_refused("--q-tiles 65537", {"q-tiles", "1..65536", "nearest valid value is 65536"});
  check_refused("--q-tiles 65536", {"tiles", "268435456"});
  check_refused("--q-tiles 4 --kv-tiles 0", {"kv-tiles"});
  check_refused("", {"--q-tiles", "--seqlen-q"});
  check_refused("--seqlen-k 5", {"seqlen-q"});
  check_refused("-i 5 --q-tiles 4", {"--q-tiles", "--seqlen-q"});
  check_refused("--q-tiles 4 --q-tile 4", {"--q-tile"});
  check_refused("--q-tiles 4 --mask causal --algorithm symmetric-shift --kv-tiles 3",
                {"symmetric-shift", "causal"});
}

TEST_CASE(
    "schedule: the default number of workers is said on stderr, unless there is nothing to say it about") {
  CHECK(run("schedule --q-tiles 4 --kv-tiles 3 --algorithm spt").err.find("no workers given: 3") !=
        std::string::npos);
  CHECK(run("schedule --q-tiles 4 --algorithm spt --quiet").err.empty());
  CHECK(run("schedule --q-tiles 4 --algorithm spt --workers 4").err.empty());
  CHECK(run("schedule --q-tiles 4 --algorithm spt --compute 1e15").err.find("no workers") ==
        std::string::npos);
}

TEST_CASE("schedule: malformed masks are refused in the unit that they are given in") {
  const std::string four = "--q-tiles 4 --mask ";
  check_refused(four + "casual", {"mask", "did you mean 'causal'?"});
  for (const std::string bad : {"window:", "window:1", "window:1,2,3"})
    check_refused(four + bad, {"mask", "LEFT,RIGHT"});
  for (const std::string bad : {"window:-1,2", "window:a,b", "window:1,", "window:1.5,0"})
    check_refused(four + bad, {"mask window"});
  for (const std::string bad : {"document:", "document:4,0", "document:4,-1", "document:a"})
    check_refused(four + bad, {"mask document"});
  check_refused(four + "document:1,2", {"mask document", "sum is 3", "a sum of 4", "as --q-tiles says"});
  check_refused("--q-tiles 4 --kv-tiles 5 --mask document:4", {"a sum of 5", "as --kv-tiles says"});
  check_refused("-i 100 --mask document:50,49", {"sum is 99", "a sum of 100", "as --seqlen-q says"});
  check_refused("-i 100 --seqlen-k 90 --mask document:100", {"a sum of 90", "as --seqlen-k says"});
  check_refused("--mask gna:w=8", {"mask gna", "i="});
  check_refused("--mask gna:i=8x8,w=9x9,q-tile=4x4,kv-tile=4x4", {"window", "1..8"});
  check_refused("--mask gna:i=8x8,w=4x4,q-tile=4x4", {"kv-tile="});
  check_refused("--mask gna:i=8x8,widow=4x4", {"did you mean 'window'?"});
  check_refused("--mask gna:i=8x8,w=4x4,w=2x2", {"twice"});
  check_refused("--mask gna:i=8x8,w=4x4 --q-tiles 3", {"--q-tiles", "this mask brings its own"});
}

}  // namespace schedule_test

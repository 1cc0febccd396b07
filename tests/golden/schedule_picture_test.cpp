// Gantt charts and traces of natten-sim schedule, and the files that it writes.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "catch.hpp"
#include "program.hpp"

namespace schedule_picture_test {

using namespace natten_sim::test;

/// Rectangles without a fill and with a thick border: steps on the critical path, and their key in the legend.
std::size_t count_outlines(const std::string& svg) {
  std::size_t count = 0;
  const std::string part = " fill=\"none\" stroke-width=\"2\"/>";
  for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++count;
  return count - 1;
}

void check_schedule_refused(const std::string& line, const std::vector<std::string>& words) {
  check_refused("schedule " + line, words);
}

TEST_CASE("schedule --perfetto: JSON with one track a worker and no overlapping slices on a track") {
  for (const auto& [line, tracks] : std::map<std::string, std::size_t>{
           {"--q-tiles 5 --heads 3 --workers 4 --mask causal --algorithm ascending --compute 7 --reduce 2",
            4},
           {"--q-tiles 5 --heads 3 --workers 4 --mask causal --algorithm best --compute 0.7 --reduce 0.2", 4},
           {"--q-tiles 5 --heads 3 --workers 4 --mask causal --algorithm spt --compute 3 --overlap async:2",
            8},
           {"--q-tiles 5 --heads 3 --workers 4 --mask causal --algorithm fa2-split --compute 3", 4},
           {"--q-tiles 5 --heads 3 --workers 4 --mask causal --algorithm two-pass --compute 3", 4}}) {
    const std::string path = scratch_folder() + "/trace.json";
    INFO(line);
    const Json result = result_of("schedule " + line + " --perfetto " + path);
    const Json trace = Json::parse(read_text(path));
    std::set<std::int64_t> named;
    std::map<std::int64_t, std::vector<std::pair<double, double>>> slices;
    double work = 0, last = 0;
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] == "M") {
        if (event["name"] == "thread_name") CHECK(named.insert(event["tid"].get<std::int64_t>()).second);
        continue;
      }
      REQUIRE(event["ph"] == "X");
      const double start = event["ts"].get<double>(), time = event["dur"].get<double>();
      CHECK(time > 0);
      slices[event["tid"].get<std::int64_t>()].emplace_back(start, start + time);
      work += time;
      last = std::max(last, start + time);
    }
    CHECK(named.size() == tracks);
    for (auto& [track, times] : slices) {
      CHECK(named.contains(track));
      std::sort(times.begin(), times.end());
      for (std::size_t i = 1; i < times.size(); ++i) CHECK(times[i].first >= times[i - 1].second - 1e-9);
    }
    CHECK(std::abs(work - result["total_work"].get<double>()) < 1e-9);
    CHECK(std::abs(last - result["makespan"].get<double>()) < 1e-9);
  }
}

TEST_CASE("schedule --picture: a picture with every task, the critical path outlined") {
  const std::string path = scratch_folder() + "/gantt.svg";
  const Json result = result_of(
      "schedule --q-tiles 4 --heads 2 --mask causal --algorithm spt --compute 7 --reduce 2 --critical-path "
      "--picture " +
      path);
  const std::string svg = read_text(path);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  const auto occurrences = [&](const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++count;
    return count;
  };
  CHECK(occurrences(": computes ") == 2 * 10);
  CHECK(occurrences(": reduces ") == 2 * 10);
  // One outline each: a rectangle without fill in the outline's colour.
  CHECK(svg.find("critical path</text>") != std::string::npos);
  CHECK(count_outlines(svg) == result["critical_path"].size());
  // Said before the search, which would take longer than it may.
  check_schedule_refused("-i 524288 --heads 2 --algorithm best --time-limit 600 --max-time 60 --picture " + path + "2",
                         {"picture", "16777216"});
}

TEST_CASE("schedule --picture: more tasks than a page can show are drawn in columns, and their beginning below") {
  const std::string path = scratch_folder() + "/columns.svg";
  const Json result = result_of("schedule -i 32768 --heads 2 --algorithm ascending --picture " + path);
  CHECK(result["total_work"].get<double>() > 0);
  const std::string svg = read_text(path);
  CHECK(svg.find("a column shows the head that took most of it") != std::string::npos);
  CHECK(svg.find("The first ") != std::string::npos);
  CHECK(svg.size() < 8'000'000);
  std::size_t zoomed = 0;
  for (std::size_t at = svg.find(": computes "); at != std::string::npos; at = svg.find(": computes ", at + 1)) ++zoomed;
  CHECK(zoomed > 1000);
  CHECK(zoomed < 50000);
}

TEST_CASE("the deterministic run of a timed kernel is drawn, traced and written as a table") {
  const std::string file = scratch_folder() + "/kernel";
  const Json kernel = result_of("schedule --kernel fa3 --device h100 -i 2048 --heads 2 --mask causal --picture " + file +
                                ".svg --perfetto " + file + ".json --emit-table " + file + ".table")["kernel"];
  // 16 KV tiles of 128 keys: two Q tiles of 64 rows fewer in each: 32 + 30 + .. + 2 tasks a head.
  const std::size_t tasks = 2 * (2 * (16 * 17 / 2));
  const std::string svg = read_text(file + ".svg");
  std::size_t drawn = 0;
  for (std::size_t at = svg.find(": computes "); at != std::string::npos; at = svg.find(": computes ", at + 1)) ++drawn;
  CHECK(drawn == tasks);
  double end = 0;
  const Json trace = Json::parse(read_text(file + ".json"));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") end = std::max(end, event["ts"].get<double>() + event["dur"].get<double>());
  }
  // Events are tasks: the last chain's epilogue, 14.11 us, may follow.
  const double makespan = kernel["deterministic"]["makespan_us"];
  CHECK(end <= makespan + 0.1);
  CHECK(end >= makespan - 14.11 - 0.1);
  CHECK(Json::parse(read_text(file + ".table"))["chains"].size() == 2 * 16);
  check_schedule_refused("--kernel fa4 --device b200 -i 2048 --picture " + file + "2.svg", {"kernel", "costs"});
}

TEST_CASE("a trace names query heads and their Q tiles, also where chains are those of KV heads") {
  const std::string path = scratch_folder() + "/heads.json";
  const auto tasks_of = [&](const std::string& chains) {
    (void)result_of("schedule --q-tiles 4 --heads 6 --heads-kv 2 --mask causal --algorithm spt --gqa-chains " + chains +
                    " --perfetto " + path);
    std::multiset<std::vector<int>> tasks;
    const Json trace = Json::parse(read_text(path));
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] != "X" || event["cat"] != "compute") continue;
      const Json& at = event["args"];
      tasks.insert({at["head"].get<int>(), at["kv_tile"].get<int>(), at["q_tile"].get<int>()});
    }
    return tasks;
  };
  const std::multiset<std::vector<int>> tasks = tasks_of("kv-heads");
  CHECK(tasks.size() == 6 * 10);
  CHECK(tasks == tasks_of("query-heads"));
}

TEST_CASE("schedule --ascii: a column a unit for whole times, and no task lost for others") {
  CHECK(run("schedule --q-tiles 2 --algorithm ascending --compute 2 --reduce 1 --ascii").out ==
        "1 unit of time a column; digits: Q tile (last digit) computes, = reduces, . waits\n"
        "0 |00=11= |\n"
        "1 |00.=11=|\n");
  const std::string halves =
      run("schedule --q-tiles 3 --algorithm ascending --compute 0.5 --reduce 0.5 --ascii").out;
  CHECK(halves.find("0 |0") !=
        std::string::npos);  // makespan 4, yet a column a unit would hide every other phase
  CHECK(halves.find("2 |0") != std::string::npos);
}

TEST_CASE("schedule: files are refused together, and one that is refused leaves none") {
  const std::string folder = scratch_folder();
  const std::string line = "--q-tiles 3 --algorithm best --picture " + folder + "/a.svg ";
  check_schedule_refused(line + "--perfetto " + folder + "/a.svg", {"perfetto"});
  check_schedule_refused(line + "--perfetto /nonexistent/x", {"/nonexistent/x"});
  check_schedule_refused(line + "--emit-table /nonexistent/x", {"/nonexistent/x"});
  check_schedule_refused(line + "--output /nonexistent/x", {"/nonexistent/x"});
  check_schedule_refused("--q-tiles 3 --algorithm all --picture " + folder + "/a.svg", {"--picture", "one algorithm"});
  check_schedule_refused("--q-tiles 3 --algorithm two-pass --emit-table " + folder + "/a", {"emit-table", "two-pass"});
  check_schedule_refused("--q-tiles 3 --algorithm best --ascii --json", {"--ascii", "--json"});
  CHECK(natten_sim::test::shell_exit_code("[ -z \"$(ls '" + folder + "')\" ]") == 0);
}

}  // namespace schedule_picture_test

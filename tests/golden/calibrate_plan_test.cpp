// `calibrate --plan`: which runs tell most before any is measured, as lines, a table and a script.
#include <set>

#include "catch.hpp"
#include "program.hpp"

namespace calibrate_plan_test {

using namespace natten_sim::test;

TEST_CASE("a plan names six runs a pass, the least certain first, and what measures them") {
  for (const std::string kernel : {"cudnn", "flexattention"}) {
    INFO(kernel);
    const Json result = result_of("calibrate --plan --kernel " + kernel + " --device a100");
    CHECK(result["kernels"].empty());
    CHECK(result["runs"].empty());
    std::set<std::string> passes, named;
    double before = 1e300;
    for (const Json& run : result["suggestions"]) {
      if (passes.insert(run["pass"].get<std::string>()).second) before = 1e300;
      const double uncertainty = run["uncertainty"];
      CHECK(uncertainty <= before * (1 + 1e-9));
      CHECK(uncertainty > 0);
      CHECK(run["predicted_ms"] > 0.1);
      before = uncertainty;
    }
    CHECK(passes == std::set<std::string>{"forward", "backward"});
    CHECK(result["suggestions"].size() == 12);
  }
  const std::string text = run("calibrate --plan --kernel hopper-fna --device h100 -d 64").out;
  CHECK(text.find("python -m natten.profiler") != std::string::npos);
  CHECK(text.find("python -m natten_sim.measure --kernel hopper-fna --device h100 --head-dim 64") != std::string::npos);
}

TEST_CASE("the table of a plan is what calibrate reads once it has times, and the script holds it") {
  const std::string folder = scratch_folder();
  const std::string plan = "calibrate --plan --kernel cudnn --device a100 --suggestions 2 ";
  const std::string table = run(plan + "--csv --script " + folder + "/measure.py").out;
  CHECK(read_text(folder + "/measure.py").find(table) != std::string::npos);
  std::string with_times;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < table.size();) {
    const std::size_t end = table.find('\n', begin);
    with_times += table.substr(begin, end - begin) + (line++ == 0 ? ",ms\n" : ",1.5\n");
    begin = end + 1;
  }
  CHECK(line == 5);  // the header, and two runs a pass
  write_text(folder + "/runs.csv", with_times);
  CHECK(result_of("calibrate " + folder + "/runs.csv")["runs"].size() == 4);
}

TEST_CASE("a run that NATTEN's profiler refuses is named by what it runs") {
  const std::string plan = "calibrate --plan --kernel cudnn --device h200 -d 256";
  const Json answer = result_of(plan);
  for (const Json& each : answer["suggestions"]) CHECK((each["pass"] == "backward" || each["command"].is_null()));
  CHECK(run(plan).out.find("forward b1 h1 d256 bf16") != std::string::npos);
}

TEST_CASE("a plan needs a kernel and a device, and no runs") {
  check_refused("calibrate --plan --device h100", {"kernel"});
  check_refused("calibrate --plan --kernel cudnn", {"device"});
  check_refused("calibrate runs.csv --plan --kernel cudnn --device h100", {"runs", "--plan"});
  check_refused("calibrate runs.csv --script measure.py", {"script", "--plan"});
  check_refused("calibrate --plan --kernel hopper-fna --device a100", {"kernel", "sm90 alone"});
}

}  // namespace calibrate_plan_test

// An algorithm that is one file, inside_out.cpp, is found by everything that lists algorithms. The program
// under test is natten-sim's own objects with the files of this folder.
#include <string>

#include "../golden/program.hpp"
#include "catch.hpp"

namespace schedule_algorithm_test {

using namespace natten_sim::test;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("an algorithm from outside is in the help of schedule and in completions") {
  CHECK(contains(run("schedule --help").out, "inside-out (a test)"));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    INFO(shell);
    CHECK(contains(run(std::string("completion ") + shell).out, "inside-out"));
  }
}

TEST_CASE("an algorithm from outside is one of all, at the place it asks for") {
  const Json algorithms = result_of("schedule --q-tiles 6 --heads 2 --mask causal")["algorithms"];
  REQUIRE(algorithms.size() == 13);
  CHECK(algorithms[5]["algorithm"] == "shift");
  CHECK(algorithms[6]["algorithm"] == "inside-out");
  CHECK(algorithms[6]["ordered"] == true);
  CHECK(algorithms[6]["makespan"].get<double>() >= algorithms[6]["lower_bound"].get<double>());
}

TEST_CASE("an algorithm from outside runs by its name, and a misspelt one gets its name as a hint") {
  const std::string problem = "schedule --q-tiles 5 --heads 3 --mask causal --compute 3 --reduce 1 ";
  const Json alone = result_of(problem + "--algorithm inside-out");
  // One worker a KV tile, one head: launched together, so worker k waits for k reductions at most.
  CHECK(alone["hang_free"] == "any_workers");
  CHECK(alone["closed_form"].is_null());
  const Run misspelt = run(problem + "--algorithm inside-outt");
  CHECK(misspelt.exit_code == 2);
  CHECK(contains(misspelt.err, "did you mean 'inside-out'?"));
}

TEST_CASE("the search is never later than an algorithm from outside") {
  for (const char* mask : {"full", "causal", "window:2,1"}) {
    const std::string problem =
        "schedule --q-tiles 7 --heads 2 --workers 3 --effort 0 --mask " + std::string(mask);
    INFO(mask);
    CHECK(result_of(problem + " --algorithm best")["makespan"].get<double>() <=
          result_of(problem + " --algorithm inside-out")["makespan"].get<double>());
  }
}

}  // namespace schedule_algorithm_test

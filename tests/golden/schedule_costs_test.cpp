// Schedules with measured costs by name, and schedules as arrays.
#include <string>
#include <utility>

#include "catch.hpp"
#include "program.hpp"

namespace {

using namespace natten_sim::test;

const std::string kProblem = "schedule -i 2048 --q-tile 64 -n 4 --workers 20 --mask causal --algorithm spt ";

TEST_CASE("costs by name are those of their file, in microseconds") {
  const Json file =
      Json::parse(read_text(std::string(NATTEN_SIM_SOURCE_DIR) + "/data/schedule-costs/fa4-h200-d128.json"));
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

}  // namespace

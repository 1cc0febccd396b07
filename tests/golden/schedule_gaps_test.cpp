// What `best` leaves on every case of docs/schedule-search.md, against what it left before chains were packed, and
// against what a throwaway prototype of the packing reached.
#include <string>
#include <vector>

#include "catch.hpp"
#include "program.hpp"

namespace schedule_gaps_test {

using namespace natten_sim::test;

struct Case {
  int row;              ///< of docs/schedule-search.md
  std::string options;  ///< of `schedule`
  double before;        ///< makespan of `best` before packing
  double goal;          ///< before, or what the prototype reached
};

const std::string kLarge = "-i 8192 --q-tile 64 --heads 16 -b 2 --workers 132 --effort 8 --mask ";

const std::vector<Case> kCases = {
    {1, "--q-tiles 8 --heads 4 --mask full", 288, 288},
    {2, "--q-tiles 7 --heads 3 --workers 5 --mask full", 315, 315},
    {3, "--q-tiles 16 --heads 5 --workers 132 --mask full", 144, 144},
    {4, "--q-tiles 4 --kv-tiles 8 --heads 3 --mask full", 108, 108},
    {5, "--q-tiles 8 --heads 2 --mask causal", 81, 81},
    {6, "--q-tiles 8 --heads 1 --mask causal", 72, 72},
    {7, "--q-tiles 8 --heads 3 --mask causal", 126, 126},
    {8, "--q-tiles 9 --heads 2 --mask causal", 90, 90},
    {9, "--q-tiles 9 --heads 3 --mask causal", 137, 135},
    {10, "--q-tiles 7 --heads 3 --workers 5 --mask causal", 153, 153},
    {11, "--q-tiles 9 --heads 3 --workers 7 --mask causal", 180, 180},
    {12, "--q-tiles 8 --kv-tiles 12 --heads 2 --workers 8 --mask causal", 155, 155},
    {13, "--q-tiles 16 --heads 4 --mask window:4,0", 171, 171},
    {14, "--q-tiles 9 --heads 3 --workers 7 --mask window:3,0", 117, 117},
    {15, "--q-tiles 15 --heads 3 --mask window:2,2", 135, 135},
    {16, "--q-tiles 16 --heads 3 --mask document:5,8,3", 173, 173},
    {17, "--q-tiles 9 --heads 3 --workers 7 --mask document:3,5,1", 144, 135},  // prototype: the optimum
    {18, "--heads 3 --mask gna:i=32x32,w=12x12,q-tile=8x8,kv-tile=8x8", 171, 171},
    {19, "--heads 3 --workers 32 --mask gna:i=24x24,w=8x8,s=4x4,q-tile=4x4,kv-tile=4x4 --effort 1000", 227,
     216},  // prototype: the bound
    {20, "--heads 4 --workers 132 --mask gna:i=16x24x24,w=6x12x12,q-tile=4x4x8,kv-tile=4x4x8 --effort 20",
     540, 488},  // prototype, against a bound of 486
    {21, "--q-tiles 8 --heads 4 --heads-kv 2 --mask causal", 172, 172},
    {22, "--q-tiles 9 --heads 3 --mask causal --handoff 2", 139, 139},
    {23, kLarge + "full", 18432, 18432},
    {24, kLarge + "causal", 9092, 9092},
    {25, kLarge + "window:1024,0", 2376, 2376},
    {26, kLarge + "document:4096,1024,2048,512,512", 6048, 6048},
};

/// Row 19 is searched for long; rows from 23 are of the size of a training run.
bool takes_long(const Case& known) { return known.row == 19 || known.row >= 23; }

void check_cases(bool those_that_take_long) {
  for (const Case& known : kCases) {
    if (takes_long(known) != those_that_take_long) continue;
    INFO("row " << known.row << ": " << known.options);
    const Json result =
        result_of("schedule --algorithm best --compute 7 --reduce 2 --quiet " + known.options);
    const double makespan = result["makespan"], bound = result["lower_bound"];
    CHECK(makespan <= known.goal);
    CHECK(makespan <= known.before);
    CHECK(makespan >= bound);
    CHECK(makespan <= 1.02 * bound);
  }
}

TEST_CASE("every quick case of the documents is at or below its goal, and within 2% of its bound") {
  check_cases(false);
}

TEST_CASE("every other case of the documents is at or below its goal, and within 2% of its bound",
          "[.nightly][long]") {
  check_cases(true);
}

TEST_CASE("288 chains of a 3-D neighborhood: the packing bound is 486, where the mean load says 459") {
  const Json result =
      result_of("schedule --algorithm best --compute 7 --reduce 2 --quiet " + kCases[19].options);
  CHECK(result["lower_bound"] == 486);
  CHECK(result["lower_bound_by"] == "packing");
  const Json unordered = result_of(
      "schedule --algorithm unordered --compute 7 --reduce 2 --quiet --heads 4 --workers 132 --mask "
      "gna:i=16x24x24,w=6x12x12,q-tile=4x4x8,kv-tile=4x4x8");
  const double mean = unordered["total_work"].get<double>() / 132;
  CHECK(mean > 450);
  CHECK(mean <= 459);  // rounded up to whole tasks of 9
}

}  // namespace schedule_gaps_test

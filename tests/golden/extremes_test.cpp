// Costs at the ends of what a double holds, and one meaning of "fastest" in a whole answer.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "program.hpp"

namespace extremes_test {

using namespace natten_sim::test;

TEST_CASE("ratios of denormal costs are numbers, or said to be above the largest") {
  const std::string line = "schedule --q-tiles 4 --workers 4 --compute 1e-320 --reduce 0 --handoff 1 --quiet";
  const Run all = run(line);
  REQUIRE(all.exit_code == 0);
  CHECK(all.out.find("inf") == std::string::npos);
  CHECK(all.out.find("nan") == std::string::npos);
  CHECK(all.out.find("over 1.80e+308x faster") != std::string::npos);  // 3 over 4e-320
  const Run one = run(line + " --algorithm ascending");
  CHECK(one.out.find("inf") == std::string::npos);
  const Run swept =
      run("sweep schedule --q-tiles 4 --workers 4 --algorithm unordered --reduce 0 --y makespan --over "
          "compute=1e-320,1");
  CHECK(swept.err.find("inf") == std::string::npos);
  CHECK(swept.err.find("makespan is 4e-320") != std::string::npos);
}

/// Column `name` of the row of `algorithm` in the comparison, empty for a "-".
double cell(const std::string& table, const std::string& algorithm, std::size_t from_end) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(algorithm + " ")) continue;
    std::istringstream words(line);
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    return std::stod(all[all.size() - from_end]);
  }
  return -1;
}

TEST_CASE("the fastest of the table is the fastest of the sentence, two passes among them") {
  // Chains that start together wait for each other's turn at the same tiles, which passes do not.
  const Run done = run("schedule --q-tiles 16 --compute 1 --reduce 8 --handoff 8 --quiet");
  REQUIRE(done.exit_code == 0);
  INFO(done.out);
  constexpr std::size_t kOfFastest = 5;  // before lower bound, gap, busy and closed form
  std::istringstream words(done.out.substr(done.out.find("In short:")));
  std::string word, best;
  while (words >> word && word != "take") {
  }
  words >> best;
  REQUIRE(best == "two-pass:");
  CHECK(cell(done.out, "two-pass", kOfFastest) == 1.0);
  for (const char* algorithm : {"ascending", "shift", "fa2-split", "two-pass", "best"}) {
    INFO(algorithm);
    CHECK(cell(done.out, algorithm, kOfFastest) >= 1.0);
  }
}

}  // namespace extremes_test

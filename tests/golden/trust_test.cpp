// The program's account of its own intervals.
#include <map>
#include <set>
#include <string>

#include "catch.hpp"
#include "program.hpp"

namespace trust_command_test {

using namespace natten_sim::test;

Json answered(const std::string& arguments) {
  const Run asked = run("trust " + arguments + " --json");
  REQUIRE(asked.exit_code == 0);
  return Json::parse(asked.out).at("result");
}

TEST_CASE("the shares of trust are those of the answers that it lists") {
  const Json result = answered("--answers");
  std::map<std::string, std::pair<int, int>> counted;  // answers, and those inside
  for (const Json& answer : result.at("answers")) {
    auto& [all, inside] = counted[answer.at("kind").get<std::string>() + answer.at("device").get<std::string>() +
                                  answer.at("regime").get<std::string>()];
    const double measured = answer.at("measured_ms").get<double>();
    const bool within = answer.at("low_ms").get<double>() <= measured && measured <= answer.at("high_ms").get<double>();
    CHECK(answer.at("inside").get<bool>() == within);
    ++all;
    inside += within ? 1 : 0;
  }
  REQUIRE(result.at("regimes").size() == counted.size());
  for (const Json& row : result.at("regimes")) {
    const auto& [all, inside] = counted.at(row.at("kind").get<std::string>() + row.at("device").get<std::string>() +
                                           row.at("regime").get<std::string>());
    CHECK(row.at("points") == all);
    CHECK(row.at("inside") == inside);
    CHECK(row.at("share").get<double>() == Approx(static_cast<double>(inside) / all));
  }
  CHECK_FALSE(answered("").contains("answers"));
}

TEST_CASE("trust answers of a kind, a device and regimes that contain texts") {
  std::set<std::string> regimes;
  const Json of_h100 = answered("hopper-fna backward --device h100"), scatters = answered("--kind scatter");
  for (const Json& row : of_h100.at("regimes")) {
    CHECK(row.at("device") == "h100");
    CHECK(row.at("kind") == "time");
    regimes.insert(row.at("regime").get<std::string>());
  }
  std::set<std::string> expected;
  for (const char* head_dim : {"32", "64", "128"}) {
    for (const char* length : {"", ", short"}) expected.insert(std::string("hopper-fna backward, head dim ") + head_dim + length);
  }
  CHECK(regimes == expected);
  CHECK_FALSE(scatters.at("regimes").empty());
  for (const Json& row : scatters.at("regimes")) CHECK(row.at("kind") == "scatter");
  check_refused("trust --kind tim", {"--kind", "time"});
  check_refused("trust --device h10", {"--device", "h100"});
  check_refused("trust hopper-fnb", {"regime", "hopper-fnb"});
}

TEST_CASE("trust draws a line for each regime") {
  const std::string path = scratch_folder() + "/trust.svg";
  REQUIRE(run("trust --kind time --device h100 --quiet --picture '" + path + "'").exit_code == 0);
  const std::string svg = read_text(path);
  const Json of_h100 = answered("--kind time --device h100");
  for (const Json& row : of_h100.at("regimes")) {
    const std::string label = ">h100 " + row.at("regime").get<std::string>() + "<";
    INFO(label);
    CHECK(svg.find(label) != std::string::npos);
  }
}

TEST_CASE("a time says what share of other measured launches lay in its interval") {
  const Run asked = run("count -i 16 44 80 -w 16 24 16 -n 32 -d 128 --device h100 --backend hopper-fna --quiet");
  REQUIRE(asked.exit_code == 0);
  CHECK(asked.out.find(" other measured launches of at least 0.3 ms lie inside") != std::string::npos);
  const Run shorter = run("count -i 1024 -n 2 -d 128 --device h200 --kernel fa2 --quiet");
  CHECK(shorter.out.find(" other measured launches under 0.3 ms lie inside") != std::string::npos);
}

}  // namespace trust_command_test

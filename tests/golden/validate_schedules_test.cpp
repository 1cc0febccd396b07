// FlashAttention-4's backward pass on an H200: predictions that were frozen in a commit, and the times
// measured after it.
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace validate_schedules_test {

using namespace natten_sim::test;

const std::string kData = std::string(natten_sim::test::kSourceDir) + "/data";

/// Exit 0: no point is excused, all are judged by the score of their suite. Long runs and very short ones miss
/// (docs/schedule-times-measured.md).
Json compared(const std::string& folder) {
  const Run done = run("validate schedules --json --recorded '" + folder + "'");
  CHECK(done.exit_code == 0);
  return Json::parse(done.out)["result"];
}

TEST_CASE(
    "FlashAttention's backward times: within 5% on average, windows too, on points that no cost was fitted "
    "to",
    "[.nightly][long]") {
  const Json result = compared(kData + "/recordings");
  std::map<std::string, std::vector<double>> errors;
  std::map<std::string, std::pair<double, double>> unordered;  // predicted and measured, by point
  std::map<std::string, std::vector<double>> ratio_errors;
  for (const Json& row : result["rows"]) {
    const bool fitted = row["fitted"], window = std::string(row["group"]).find("window") != std::string::npos;
    const std::string kind = fitted ? "fitted" : window ? "windows" : "full and causal";
    errors[kind].push_back(std::abs(row["deviation"].get<double>()));
    if (fitted) continue;
    const std::string point = row["point"];
    const std::string key = point.substr(0, point.rfind(' ')), mode = point.substr(point.rfind(' ') + 1);
    const double predicted = row["predicted"], measured = row["measured"];
    if (mode == "unordered") {
      unordered[key] = {predicted, measured};
    } else {
      REQUIRE(unordered.contains(key));  // recorded before
      const auto& [before, timed] = unordered[key];
      ratio_errors[kind].push_back(std::abs(before / predicted - timed / measured));
    }
  }
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  // 36 problems twice, and 43 windows twice. Goals: 5% and .03, windows 10% and .05.
  REQUIRE(errors["full and causal"].size() == 72);
  REQUIRE(errors["windows"].size() == 86);
  REQUIRE(errors["fitted"].size() == 48);
  CHECK(mean(errors["full and causal"]) < 0.05);
  CHECK(mean(errors["windows"]) < 0.04);
  CHECK(mean(ratio_errors["full and causal"]) < 0.03);
  CHECK(mean(ratio_errors["windows"]) < 0.04);
}

/// Of the frozen predictions up to this length; returns how many there are.
int check_frozen(const std::string& folder, int longest) {
  const Json frozen = Json::parse(read_text(kData + "/predictions/h200_fa4_backward.json"));
  const Json result = compared(folder);
  int checked = 0;
  std::map<std::string, double> said;
  for (const Json& row : result["rows"]) said[row["point"]] = row["predicted"].get<double>() / 1e6;
  REQUIRE(frozen["rows"].size() == 87);
  for (const Json& row : frozen["rows"]) {
    if (row[2] > longest) continue;
    ++checked;
    const auto number = [&](int column) { return std::to_string(row[column].get<int>()); };
    const std::string point = "fa4 backward b" + number(3) + " h" + number(4) + "/" + number(5) + " s" +
                              number(2) + " d" + number(1) + " bf16 " + std::string(row[6]);
    INFO(point);
    CHECK(said.at(point + " deterministic") == Approx(row[7].get<double>()).margin(6e-5));
    CHECK(said.at(point + " unordered") == Approx(row[8].get<double>()).margin(6e-5));
  }
  return checked;
}

TEST_CASE(
    "predictions of FlashAttention-4 that were frozen before the measurement are what the program still "
    "says of up to 16,384 tokens") {
  const std::string part = part_of_recording("nvidia-h200-fa4-backward",
                                             [](const Json& point) { return point["tokens"] <= 16384; });
  CHECK(check_frozen(part, 16384) == 142 / 2);
}

TEST_CASE(
    "predictions of FlashAttention-4 that were frozen before the measurement are what the program still says",
    "[.nightly][long]") {
  CHECK(check_frozen(kData + "/recordings", 65536) == 87);
}

}  // namespace validate_schedules_test

#include <cmath>
#include <fstream>
#include <map>
#include <regex>

#include "catch.hpp"
#include "places.hpp"
#include "program.hpp"

namespace plan_test {

using namespace natten_sim::test;

const std::string kHunyuan = "plan --preset hunyuan-video --device h100 --gpus 8 -w 18 24 24 -s 16 8 8";

/// The rows of a hand calculation below a heading of docs/plan.md: what they say of a name, as a number.
std::map<std::string, double> worked_by_hand(const std::string& heading) {
  std::ifstream page(std::string(natten_sim::test::kSourceDir) + "/docs/plan.md");
  std::map<std::string, double> rows;
  const std::regex row(R"(\| [^|]+ \| [^|]+ = ([0-9.,]+) [^|]*\| `([a-z_.]+)` \|)");
  std::smatch found;
  bool below = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) below = line == "## " + heading;
    if (!below || !std::regex_match(line, found, row)) continue;
    std::string digits;
    for (const char c : found[1].str()) digits += c == ',' ? "" : std::string(1, c);
    rows[found[2]] = std::stod(digits);
  }
  return rows;
}

void check_rows(const std::map<std::string, double>& rows, const Json& result) {
  for (const auto& [name, value] : rows) {
    INFO(name);
    const std::string pointer = "/" + std::regex_replace(name, std::regex("\\."), "/");
    CHECK(std::abs(result.at(Json::json_pointer(pointer)).get<double>() - value) <= 0.005 * value);
  }
}

TEST_CASE("the plan of Hunyuan on 8 H100s is what docs/plan.md works out by hand") {
  const std::map<std::string, double> rows = worked_by_hand("Hunyuan Video on 8 H100s, by hand");
  REQUIRE(rows.size() >= 12);
  check_rows(rows, result_of(kHunyuan + " --dollars-per-hour 3"));
}

TEST_CASE("the memory of an epoch of FLUX is what docs/plan.md works out by hand") {
  const std::map<std::string, double> rows = worked_by_hand("Memory in training, by hand");
  REQUIRE(rows.size() == 3);
  check_rows(rows, result_of("plan --preset flux1-dev-4k --device h100 --gpus 4 --for training -w 80 80 -s 16 16"));
}

TEST_CASE("a plan's input is a question with the same answer") {
  const Json asked = Json::parse(run(kHunyuan + " --parallel sequence --json --no-conclusion").out);
  CHECK(asked["input"]["dense_steps"] == "15/50");
  CHECK(asked["input"]["layers"] == 60);
  const Json request = {{"command", "plan"}, {"options", asked["input"]}};
  const Json again = Json::parse(run("serve", request.dump() + "\n").out);
  CHECK(again["result"] == asked["result"]);
}

TEST_CASE("a plan names both attentions, what the rest stands on, and the bounds") {
  const std::string text = run(kHunyuan + " --dollars-per-hour 3").out;
  for (const char* part : {"60 layers", "8 h100, heads split", "attention, a layer", "dollars", "60.7%", "450 GB/s"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
  const Json result = result_of(kHunyuan);
  for (const char* plan : {"dense", "sparse"}) {
    for (const auto& [name, unit] :
         {std::pair{"attention", "_ms"}, {"communication", "_ms"}, {"rest", "_ms"}, {"step", "_ms"}, {"run", "_s"}}) {
      INFO(plan << " " << name);
      const auto at = [&result, plan, member = std::string(name), end = unit](const char* bound) {
        return result[plan][member + bound + end].get<double>();
      };
      CHECK(at("_low") < at(""));
      CHECK(at("") < at("_high"));
    }
    CHECK(result[plan]["cost_dollars"].is_null());
  }
}

TEST_CASE("a plan without a share says that its steps are attention alone") {
  const std::string line = "plan -i 64 64 -w 16 16 -n 8 -d 128 --device h200";
  CHECK(run(line).out.find("--attention-share or --rest-flops") != std::string::npos);
  CHECK(result_of(line)["rest"] == "unknown");
  CHECK(result_of(line + " --rest-flops 1e12")["rest"] == "flops");
  CHECK(result_of(line + " --attention-share 0.5")["rest"] == "attention-share");
}

TEST_CASE("a plan that cannot be is refused with what can") {
  check_refused("plan --preset hunyuan-video -w 18 24 24", {"device", "h100"});
  check_refused("plan --preset hunyuan-video --device h100 -w 18 24 24 --gpus 7", {"gpus", "24 KV heads", "sequence"});
  check_refused("plan -i 64 64 -w 8 8 -d 128 -n 8 --device gb10 --gpus 2", {"device"});
}

TEST_CASE("a plan ends with the window that it is of, its gain, and its bounds") {
  const Json result = result_of(kHunyuan), end = conclusion_of(kHunyuan);
  CHECK(end["gain"] == result["speedup"]);
  CHECK(end["options"]["window"] == Json({18, 24, 24}));
  CHECK(end["sentence"].get<std::string>().find("most of a dense step is attention") != std::string::npos);
}

}  // namespace plan_test

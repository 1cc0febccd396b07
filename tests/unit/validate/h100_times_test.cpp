// Times that were predicted for an H100 in commits, before they were measured: data/predictions/h100_*.json.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace h100_times_test {

using namespace natten_sim;
using namespace natten_sim::validate;

std::string text_of(const std::string& path) {
  std::ifstream file(natten_sim::test::kSourceDir + ("/" + path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Recording recording_of(const std::string& suite) {
  const std::string name = "nvidia-h100-" + suite + ".json";
  return parse_recording(text_of("data/recordings/" + name), name);
}

std::string key_of_parameters(const nlohmann::json& parameters) {
  std::vector<std::string> words;
  for (const auto& [key, value] : parameters.items())
    words.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  return key_of(parse_point_words(words));
}

/// How frozen times and their intervals meet the points of a recording whose pass is `pass`, or all.
struct Judged {
  std::size_t points = 0, inside = 0;
  double mean = 0, worst = 0;
};

Judged judged(const std::string& prediction, const std::string& suite, const std::string& pass = "") {
  const nlohmann::json frozen =
      nlohmann::json::parse(text_of("data/predictions/h100_" + prediction + ".json"));
  std::map<std::string, double> measured;
  for (const RecordedRow& row : recording_of(suite).rows)
    measured[key_of(row.point)] = row.timing->milliseconds.median;
  Judged all;
  for (const nlohmann::json& row : frozen.at("rows")) {
    if (!pass.empty() && row.at(0).at("pass") != pass) continue;
    const double ms = measured.at(key_of_parameters(row.at(0)));
    const double off = std::abs(row.at(1).get<double>() / ms - 1);
    ++all.points;
    all.inside += row.at(2).get<double>() <= ms && ms <= row.at(3).get<double>() ? 1 : 0;
    all.mean += off;
    all.worst = std::max(all.worst, off);
  }
  all.mean /= static_cast<double>(all.points);
  return all;
}

TEST_CASE("frozen times of FlexAttention on an H100 hold within 3% on average and 12% at worst") {
  const Judged flex = judged("flex", "flex"), dims = judged("flex_dims", "flex-dims");
  CHECK(flex.points == 84);
  CHECK(dims.points == 54);
  for (const Judged& each : {flex, dims}) {
    CHECK(each.mean <= 0.03);
    CHECK(each.worst <= 0.12);
    CHECK(static_cast<double>(each.inside) >= 0.9 * static_cast<double>(each.points));
  }
}

TEST_CASE("frozen times of hopper-fna backward on an H100 hold within 3% on average and 7% at worst") {
  const Judged backward = judged("hopper", "hopper", "backward");
  CHECK(backward.points == 64);
  CHECK(backward.mean <= 0.03);
  CHECK(backward.worst <= 0.07);
}

TEST_CASE("hopper-fna of head dims 32 and 64 on an H100 is told by costs that were fitted to other points") {
  std::map<std::string, std::pair<double, std::size_t>> errors;  // of head dim and pass
  const Device device = builtin_catalog().device("h100");
  for (const RecordedRow& row : recording_of("hopper").rows) {
    const KernelRun run = *row.point->kernel_run();
    if (run.head_dim == 128) continue;
    for (const Prediction& prediction : predict(row.point, device)) {
      INFO(key_of(row.point));
      CHECK(prediction.model == "tile costs");
      CHECK_FALSE(prediction.fitted);
      auto& [sum, count] = errors[std::to_string(run.head_dim) + (run.pass == Walk::kForward ? "f" : "b")];
      sum += std::abs(1e-6 * prediction.value / row.timing->milliseconds.median - 1);
      ++count;
    }
  }
  CHECK(errors["32f"].second == 22);
  CHECK(errors["64f"].second == 24);
  // Launches of a few microseconds are among them: one CTA an SM, where large ones have two.
  for (const auto& [name, error] : errors) {
    INFO(name);
    CHECK(error.first / static_cast<double>(error.second) <= 0.05);
  }
}

}  // namespace h100_times_test

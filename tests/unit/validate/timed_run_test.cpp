#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/cases/timed_run.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace timed_run_test {

using namespace natten_sim;
using namespace natten_sim::validate;

std::string text_of(const std::string& path) {
  std::ifstream file(natten_sim::test::kSourceDir + ("/" + path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Recording recording_of(const std::string& name) {
  return parse_recording(text_of("data/recordings/" + name), name);
}

Point flex_point(const nlohmann::json& parameters) {
  std::vector<std::string> words;
  for (const auto& [key, value] : parameters.items())
    words.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  return parse_point_words(words);
}

TEST_CASE("a point that another program measures has no launch here, and says what measures it") {
  const Point point = parse_point_words(
      {"kernel=flex", "input=64x64", "window=16x16", "q_tile=8x16", "kv_tile=8x16", "causal=1x0"});
  CHECK(key_of(point) == "flex forward b1 h1 d128 bf16 64x64 window 16x16 causal 1x0 tiles 8x16/8x16");
  CHECK(point->to_check(CheckLengths::kShortAndLong).empty());
  CHECK_FALSE(point->kernel_run()->causal[1]);
  CHECK_THROWS_AS(parse_point_words({"kernel=flex", "input=64", "window=65", "q_tile=8", "kv_tile=8"}),
                  Error);
  CHECK_THROWS_AS(
      parse_point_words({"kernel=flex", "input=64", "window=6", "q_tile=8", "kv_tile=8", "pass=up"}), Error);
  CHECK_THROWS_AS(
      parse_point_words({"kernel=flex", "input=64", "window=6", "q_tile=8", "kv_tile=8", "causal=2"}), Error);
}

TEST_CASE("a padded head dim is predicted by the program that was measured, another cell without runs is not") {
  const Device device = builtin_catalog().device("h200");
  const auto predicted = [&](const char* kernel, int head_dim) {
    const Point point = parse_point_words({"kernel=natten", std::string("runs=") + kernel, "input=4096", "window=4096",
                                           "q_tile=128", "kv_tile=128", "head_dim=" + std::to_string(head_dim)});
    return point->predict(device, Fidelity::kClosedForm).size();
  };
  CHECK(predicted("fa2", 96) == 1);
  CHECK(predicted("fa2", 88) == 1);
  CHECK(predicted("cudnn", 240) == 1);
  CHECK(predicted("fa3", 64) == 0);  // transferred from an H20
}

TEST_CASE("times of FlexAttention that were frozen before the suite was measured hold within 12% each") {
  const nlohmann::json frozen = nlohmann::json::parse(text_of("data/predictions/h200_flex.json"));
  std::map<std::string, double> predicted_ms;
  for (const nlohmann::json& row : frozen.at("rows"))
    predicted_ms[key_of(flex_point(row.at(0)))] = row.at(1).get<double>();
  const Recording recording = recording_of("nvidia-h200-flex.json");
  double sum = 0;
  for (const RecordedRow& row : recording.rows) {
    INFO(key_of(row.point));
    REQUIRE(predicted_ms.contains(key_of(row.point)));
    const double off = std::abs(predicted_ms[key_of(row.point)] / row.timing->milliseconds.median - 1);
    CHECK(off <= 0.12);
    sum += off;
  }
  CHECK(recording.rows.size() == 84);
  CHECK(sum / 84 <= 0.05);
}

TEST_CASE("FlexAttention's order is predicted wherever two configurations differ by more than 5%") {
  const std::string device = GENERATE("h200", "h100");
  const nlohmann::json frozen = nlohmann::json::parse(text_of("data/predictions/" + device + "_flex.json"));
  const Recording recording = recording_of("nvidia-" + device + "-flex.json");
  std::map<std::string, double> measured_ms;
  for (const RecordedRow& row : recording.rows)
    measured_ms[key_of(row.point)] = row.timing->milliseconds.median;
  // Configurations of one layout, pass, head dim and number of heads.
  std::size_t pairs = 0, wrong = 0;
  for (const nlohmann::json& a : frozen.at("rows")) {
    for (const nlohmann::json& b : frozen.at("rows")) {
      bool alike = true;
      for (const char* key : {"input", "pass", "head_dim", "heads"}) alike = alike && a[0][key] == b[0][key];
      const double of_a = measured_ms[key_of(flex_point(a[0]))], of_b = measured_ms[key_of(flex_point(b[0]))];
      if (!alike || of_b <= 1.05 * of_a) continue;
      ++pairs;
      if (a[1].get<double>() >= b[1].get<double>()) ++wrong;
    }
  }
  CHECK(pairs >= 80);
  CHECK(wrong == 0);
}

TEST_CASE("costs of FlexAttention are fitted to other points than those that they are held against") {
  // Points of the suite, and of those that costs are fitted to; head dim 96 on the H100 alone.
  const std::tuple<const char*, const char*, std::size_t, std::size_t> families[] = {
      {"h200", "flex", 20, 84}, {"h100", "flex", 20, 84}, {"h200", "flex-dims", 20, 36}, {"h100", "flex-dims", 30, 54}};
  for (const auto& [device, family, expected_fitted, expected_judged] : families) {
    INFO(family << " on " << device);
    const std::string costs = std::string(family) + "-costs";
    std::size_t fitted = 0, judged = 0;
    for (const Suite& suite : builtin_suites()) {
      if (suite.name != family && suite.name != costs) continue;
      for (const Point& point : suite.points) {
        for (const Prediction& prediction : predict(point, builtin_catalog().device(device))) {
          if (prediction.model != "tile costs") continue;
          INFO(key_of(point));
          CHECK(prediction.fitted == (suite.name == costs));
          ++(prediction.fitted ? fitted : judged);
        }
      }
    }
    CHECK(fitted == expected_fitted);
    CHECK(judged == expected_judged);
  }
}

TEST_CASE("the runs of hopper-fna on another H200 are told by launches measured here within 5% on average") {
  const Recording recording = recording_of("nvidia-h200-natten.json");
  const Comparison comparison =
      compare({recording}, builtin_suites(), builtin_catalog().devices, Fidelity::kClosedForm);
  double sum = 0;
  std::size_t told = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.model != "tile costs" || row.point.find("hopper-fna") == std::string::npos) continue;
    INFO(row.point);
    CHECK(std::abs(row.deviation) <= std::max(0.06, row.spread));  // one run's repetitions took 8.5 to 10.2 ms
    sum += std::abs(row.deviation);
    ++told;
  }
  CHECK(told == 10);
  CHECK(sum / 10 <= 0.05);
}

/// Median of each row, by key.
std::map<std::string, double> medians_of(const Recording& recording) {
  std::map<std::string, double> medians;
  for (const RecordedRow& row : recording.rows) {
    INFO(key_of(row.point));
    REQUIRE(row.timing.has_value());
    std::string key = key_of(row.point);
    // Predictions that were frozen before rests were an input name none.
    if (const std::size_t rest = key.find(" rest "); rest != std::string::npos) key.resize(rest);
    medians[key] = row.timing->milliseconds.median;
  }
  return medians;
}

TEST_CASE("what search by time chooses is at most 3% slower than the best of 30 random candidates") {
  const nlohmann::json frozen = nlohmann::json::parse(text_of("data/predictions/h200_choice.json"));
  const nlohmann::json suite = nlohmann::json::parse(text_of("data/suites/choice.json"));
  const std::map<std::string, double> measured = medians_of(recording_of("nvidia-h200-choice.json"));
  std::size_t at = 0;
  for (const nlohmann::json& problem : frozen.at("problems")) {
    INFO(problem.at("search"));
    double chosen = 0, best_random = 1e300;
    std::size_t random = 0;
    for (const nlohmann::json& candidate : problem.at("candidates")) {
      const nlohmann::json& point = suite.at("sweeps").at(at++);
      REQUIRE(point.at("window") == candidate.at(0));
      REQUIRE(point.at("stride") == candidate.at(1));
      const double ms = measured.at(key_of(flex_point(point)));
      if (candidate.at(4) == "random") {
        best_random = std::min(best_random, ms);
        ++random;
      } else if (chosen == 0) {
        chosen = ms;  // the first that search names
      }
    }
    CHECK(random == 30);
    CHECK(chosen <= 1.03 * best_random);
  }
  CHECK(frozen.at("problems").size() == 9);
  CHECK(at == suite.at("sweeps").size());
}

Point without_rest(nlohmann::json parameters) {
  parameters.erase("rest_us");
  return flex_point(parameters);
}

/// Mean and largest |predicted / measured - 1| of a kernel over frozen predictions.
std::pair<double, double> errors_of(const nlohmann::json& frozen,
                                    const std::map<std::string, double>& measured, const std::string& kernel,
                                    std::size_t expected = 41) {
  double sum = 0, worst = 0;
  std::size_t points = 0;
  for (const nlohmann::json& row : frozen.at("rows")) {
    if (row.at(0).at("runs") != kernel) continue;
    const double off = std::abs(row.at(1).get<double>() / measured.at(key_of(without_rest(row.at(0)))) - 1);
    sum += off;
    worst = std::max(worst, off);
    ++points;
  }
  CHECK(points == expected);
  return {sum / static_cast<double>(points), worst};
}

TEST_CASE("frozen times of two kernels hold within 5% on average, FlexAttention's within 12% at worst") {
  const nlohmann::json frozen = nlohmann::json::parse(text_of("data/predictions/h200_beside.json"));
  const std::map<std::string, double> measured = medians_of(recording_of("nvidia-h200-beside.json"));
  CHECK(errors_of(frozen, measured, "flexattention").first <= 0.05);
  CHECK(errors_of(frozen, measured, "flexattention").second <= 0.12);
  // How many of this project's own are farther off than 12%, the goal, the score of the suite holds.
  CHECK(errors_of(frozen, measured, "gna").first <= 0.05);
}

TEST_CASE("fresh problems that were frozen with a rest as input hold within 5% on average and 12% at worst") {
  const std::pair<std::string, std::string> suites[] = {{"fresh_turns", "fresh-turns"},
                                                        {"fresh_by_itself", "fresh-by-itself"}};
  for (const auto& [prediction, suite] : suites) {
    INFO(suite);
    const nlohmann::json frozen =
        nlohmann::json::parse(text_of("data/predictions/h200_" + prediction + ".json"));
    const std::map<std::string, double> measured = medians_of(recording_of("nvidia-h200-" + suite + ".json"));
    for (const char* kernel : {"gna", "flexattention"}) {
      INFO(kernel);
      const auto [mean, worst] = errors_of(frozen, measured, kernel, 20);
      CHECK(mean <= 0.05);
      CHECK(worst <= 0.12);
    }
  }
}

TEST_CASE("a point says how long the GPU rests between its launches") {
  const std::vector<std::string> words = {"kernel=beside", "runs=gna",    "input=64x64",
                                          "window=16x16",  "q_tile=8x16", "kv_tile=8x16"};
  std::vector<std::string> rested = words;
  rested.emplace_back("rest_us=380");
  CHECK(key_of(parse_point_words(rested)) == key_of(parse_point_words(words)) + " rest 380us");
  CHECK_FALSE(parse_point_words(words)->kernel_run()->rest_ms);
  CHECK(parse_point_words(rested)->kernel_run()->rest_ms == Approx(0.38));
  rested.back() = "rest_us=-1";
  CHECK_THROWS_AS(parse_point_words(rested), Error);
}

TEST_CASE(
    "in turns with FlexAttention this project's kernel is the faster one on every problem, as predicted") {
  const nlohmann::json frozen = nlohmann::json::parse(text_of("data/predictions/h200_beside_turns.json"));
  const std::map<std::string, double> measured = medians_of(recording_of("nvidia-h200-beside-turns.json"));
  std::map<std::string, std::map<std::string, std::pair<double, double>>> problems;
  for (const nlohmann::json& row : frozen.at("rows")) {
    nlohmann::json problem = row.at(0);
    problem.erase("runs");
    problems[problem.dump()][row.at(0).at("runs")] = {row.at(1).get<double>(),
                                                      measured.at(key_of(flex_point(row.at(0))))};
  }
  CHECK(problems.size() == 41);
  for (const auto& [problem, kernels] : problems) {
    INFO(problem);
    CHECK(kernels.at("gna").first < kernels.at("flexattention").first);
    CHECK(kernels.at("gna").second < kernels.at("flexattention").second);
  }
}

/// Pairs of configurations whose times differ by more than 5%, and those of them that are predicted the other
/// way round.
struct Order {
  std::size_t pairs = 0, wrong = 0;
};

/// `points`: predicted and measured milliseconds of configurations of one layout, heads and kernel.
Order order_of(const std::vector<std::pair<double, double>>& points) {
  Order order;
  for (const auto& [a_predicted, a_measured] : points) {
    for (const auto& [b_predicted, b_measured] : points) {
      if (b_measured <= 1.05 * a_measured) continue;
      ++order.pairs;
      if (a_predicted >= b_predicted) ++order.wrong;
    }
  }
  return order;
}

TEST_CASE("of candidates that differ by more than 5%, 99 of 100 pairs are in the predicted order") {
  const nlohmann::json frozen = nlohmann::json::parse(text_of("data/predictions/h200_choice.json"));
  const nlohmann::json suite = nlohmann::json::parse(text_of("data/suites/choice.json"));
  const std::map<std::string, double> measured = medians_of(recording_of("nvidia-h200-choice.json"));
  std::map<std::string, Order> found;
  std::size_t at = 0;
  for (const nlohmann::json& problem : frozen.at("problems")) {
    std::vector<std::pair<double, double>> points;
    for (const nlohmann::json& candidate : problem.at("candidates"))
      points.emplace_back(candidate.at(5), measured.at(key_of(flex_point(suite.at("sweeps").at(at++)))));
    const Order order = order_of(points);
    found[problem.at("kernel")].pairs += order.pairs;
    found[problem.at("kernel")].wrong += order.wrong;
  }
  for (const auto& [kernel, order] : found) {
    INFO(kernel << ": " << order.wrong << " of " << order.pairs);
    CHECK(order.pairs >= 2000);
    CHECK(100 * order.wrong <= order.pairs);
  }
  CHECK(found.size() == 2);
}

TEST_CASE("two problems of a layout in the suites beside are in the predicted order") {
  const std::pair<std::string, std::string> suites[] = {{"beside", "h200_beside"},
                                                        {"beside-turns", "h200_beside_turns"}};
  for (const auto& [suite, predictions] : suites) {
    const nlohmann::json frozen = nlohmann::json::parse(text_of("data/predictions/" + predictions + ".json"));
    const std::map<std::string, double> measured = medians_of(recording_of("nvidia-h200-" + suite + ".json"));
    std::map<std::string, std::vector<std::pair<double, double>>> layouts;
    for (const nlohmann::json& row : frozen.at("rows")) {
      const nlohmann::json& point = row.at(0);
      layouts[point.at("runs").dump() + point.at("input").dump() + point.at("heads").dump()].emplace_back(
          row.at(1), measured.at(key_of(without_rest(point))));
    }
    Order all;
    for (const auto& [layout, points] : layouts) {
      const Order order = order_of(points);
      all.pairs += order.pairs;
      all.wrong += order.wrong;
    }
    INFO(suite);
    CHECK(all.pairs >= 140);
    CHECK(all.wrong == 0);
  }
}

TEST_CASE("frozen times of FlashAttention-2 and cuDNN by timed wavefronts are 5% off on average") {
  const nlohmann::json frozen = nlohmann::json::parse(text_of("data/predictions/h200_sdpa_times.json"));
  const std::map<std::string, double> measured = medians_of(recording_of("nvidia-h200-sdpa-times.json"));
  const Device device = builtin_catalog().device("h200");
  double sum = 0, sum_today = 0;
  int short_points = 0;
  for (const nlohmann::json& row : frozen.at("rows")) {
    const Point point = flex_point(row.at(0));
    INFO(key_of(point));
    sum += std::abs(row.at(1).get<double>() / measured.at(key_of(point)) - 1);
    for (const Prediction& quick : predict(point, device))
      CHECK(quick.counter != kLaunchTime);  // only a simulation tells
    if (row.at(0).at("tokens") > 32768 || row.at(0).at("heads") > 1) continue;
    const std::vector<Prediction> today = predict(point, device, Fidelity::kTimed);
    const auto time = std::ranges::find(today, kLaunchTime, &Prediction::counter);
    REQUIRE(time != today.end());
    sum_today += std::abs(1e-6 * time->value / measured.at(key_of(point)) - 1);
    ++short_points;
  }
  CHECK(frozen.at("rows").size() == 112);
  CHECK(sum / 112 <= 0.05);
  // The model was changed since: the suite's score judges it, and here the points that take no time to
  // simulate.
  CHECK(short_points == 16);
  CHECK(sum_today / short_points <= 0.05);
}

TEST_CASE("a recording gives the runs that costs are fitted to") {
  const std::vector<KernelRun> flex = kernel_runs_of(recording_of("nvidia-h200-flex-costs.json"));
  CHECK(flex.size() == 20);
  CHECK(flex[0].device == "h200");
  const std::vector<KernelRun> own = kernel_runs_of(recording_of("nvidia-h200-gna-costs.json"));
  CHECK(own.size() == 21);
  CHECK(own[0].kernel == "gna");
  CHECK(kernel_runs_of(recording_of("nvidia-h200-stream.json")).empty());
}

}  // namespace timed_run_test

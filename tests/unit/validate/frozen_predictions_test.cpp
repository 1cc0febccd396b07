// What was predicted before it was measured, against what the recordings hold.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/validate/cases/msda.hpp>
#include <natten_sim/validate/cases/scatter.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "catch.hpp"
#include "places.hpp"
#include "shipped_recordings.hpp"

namespace frozen_predictions_test {

using namespace natten_sim;
using namespace natten_sim::validate;

const std::string kData = std::string(natten_sim::test::kSourceDir) + "/data/";

/// Factors by which times were missed, ascending, and how many are within one.
struct Ratios {
  std::vector<double> sorted;
  void add(double predicted, double measured) {
    sorted.push_back(std::max(predicted / measured, measured / predicted));
  }
  void sort() { std::sort(sorted.begin(), sorted.end()); }
  [[nodiscard]] double median() const { return sorted.at(sorted.size() / 2); }
  [[nodiscard]] double worst() const { return sorted.back(); }
  [[nodiscard]] std::ptrdiff_t within(double factor) const {
    return std::count_if(sorted.begin(), sorted.end(), [&](double each) { return each <= factor; });
  }
};

/// Times and sectors of a suite by group, as missed by what was frozen.
struct ScatterScore {
  std::map<std::string, Ratios> times, sectors;
  Ratios times_to_2_kib;  ///< of contended half-precision rows of at most 2 KiB
};

/// `group` without what the suite says now about fits.
std::string kind_of(const ScatterCase& point) {
  const std::string group = point.group();
  return group.substr(0, group.find(','));
}

ScatterScore scatter_score(const std::string& suite, const std::string& predicted,
                           const std::string& device = "h200") {
  std::map<std::string, std::pair<double, double>> frozen;  // time and sectors, by the point's words
  const Json predictions = Json::parse(read_text("predictions", kData + "predictions/" + predicted));
  const auto words = [](const std::string& dtype, std::int64_t width, std::int64_t updates, std::int64_t rows,
                        const std::string& distribution, std::int64_t seed) {
    return dtype + " " + std::to_string(width) + " " + std::to_string(updates) + " " + std::to_string(rows) +
           " " + distribution + " " + std::to_string(seed);
  };
  for (const Json& row : predictions["rows"]) {
    const std::string rows_by = to_string(parse_index_distribution(row[4].get<std::string>()));
    frozen[words(row[0], row[1], row[2], row[3], rows_by, row[5])] = {
        row[6], row[8].get<double>() + row[9].get<double>()};
  }
  ScatterScore score;
  for (const Recording& recording : test::shipped_recordings()) {
    if (recording.head.suite != suite || recording.head.device.profile != device) continue;
    for (const RecordedRow& row : recording.rows) {
      const auto* const point = row.point.as<ScatterCase>();
      REQUIRE(point != nullptr);
      const auto& [time, sent] = frozen.at(words(to_string(point->dtype), point->width, point->updates,
                                                 point->rows, to_string(point->distribution), point->seed));
      const double measured = row.timing->milliseconds.median * 1e6;
      const std::string kind = kind_of(*point);
      score.times[kind].add(time, measured);
      if (kind == "scatter half contended" && point->width <= 1024) score.times_to_2_kib.add(time, measured);
      const char* const label = point->dtype == Dtype::kFp32 ? "l1_reduction_sectors" : "l1_atomic_sectors";
      score.sectors[kind].add(sent, row.counters.at(label).spread.median);
    }
  }
  for (auto* const all : {&score.times, &score.sectors}) {
    for (auto& [group, ratios] : *all) ratios.sort();
  }
  score.times_to_2_kib.sort();
  return score;
}

TEST_CASE("scatters that were predicted first: the goals that were kept, and those that were not") {
  auto [times, sectors, narrow] = scatter_score("scatter-blind", "h200_scatter_blind.json");
  const Ratios& half = times.at("scatter half contended");
  CHECK(half.sorted.size() == 80);
  CHECK(half.median() < 1.3);   // the goal: 1.19
  CHECK(half.within(2) == 78);  // not the goal of 80: 2.4 and 3.7 at two points
  CHECK(half.worst() < 4);
  CHECK(times.at("scatter fp32 contended").within(1.15) == 21);  // of 30
  CHECK(times.at("scatter fp32 uniform").within(1.15) == 10);    // of 20
  CHECK(times.at("scatter half uniform").within(1.15) == 12);    // of 25
  CHECK(sectors.at("scatter fp32 uniform").within(1.05) == 20);  // all
  CHECK(sectors.at("scatter half uniform").within(1.05) == 25);  // all
  CHECK(sectors.at("scatter fp32 contended").within(1.05) == 26);
  CHECK(sectors.at("scatter half contended").within(1.05) == 25);  // of 80: retries
}

TEST_CASE("scatters of a fresh draw, queued: 97 of 100 contended ones are within a factor of two") {
  auto [times, sectors, narrow] = scatter_score("scatter-queued", "h200_scatter_queued.json");
  const Ratios& half = times.at("scatter half contended");
  CHECK(half.sorted.size() == 100);
  CHECK(half.median() < 1.17);  // the goal: 1.3
  CHECK(half.within(2) == 97);  // not the goal of 100: 2.1, 2.1 and 3.1
  CHECK(half.worst() < 3.1);
  CHECK(times.at("scatter fp32 contended").within(1.15) == 27);    // of 30
  CHECK(times.at("scatter fp32 uniform").within(1.15) == 20);      // all
  CHECK(times.at("scatter half uniform").within(1.15) == 22);      // of 25
  CHECK(sectors.at("scatter fp32 uniform").within(1.05) == 20);    // all
  CHECK(sectors.at("scatter half uniform").within(1.05) == 25);    // all
  CHECK(sectors.at("scatter fp32 contended").within(1.05) == 30);  // all
  CHECK(sectors.at("scatter half contended").within(1.05) == 64);  // of 100: retries
}

TEST_CASE("scatters of a second draw: rows to 2 KiB keep both goals, one longer row misses a factor of two") {
  auto [times, sectors, narrow] = scatter_score("scatter-again", "h200_scatter_again.json");
  const Ratios& half = times.at("scatter half contended");
  CHECK(half.sorted.size() == 100);
  CHECK(half.median() < 1.14);  // the goal: 1.3
  CHECK(half.within(2) == 99);  // not the goal of 100: 2.2
  CHECK(half.worst() < 2.2);
  CHECK(narrow.sorted.size() == 63);
  CHECK(narrow.median() < 1.13);
  CHECK(narrow.worst() < 1.81);
  CHECK(times.at("scatter fp32 contended").within(1.15) == 27);    // of 30
  CHECK(times.at("scatter fp32 uniform").within(1.15) == 18);      // of 20
  CHECK(times.at("scatter half uniform").within(1.15) == 20);      // of 25
  CHECK(sectors.at("scatter fp32 uniform").within(1.05) == 20);    // all
  CHECK(sectors.at("scatter half uniform").within(1.05) == 25);    // all
  CHECK(sectors.at("scatter fp32 contended").within(1.05) == 30);  // all
  CHECK(sectors.at("scatter half contended").within(1.05) == 57);  // of 100: retries
}

TEST_CASE(
    "scatters of a third draw: rows to 2 KiB keep both goals, one row of 3 to 4 KiB gathers or does not") {
  auto [times, sectors, narrow] = scatter_score("scatter-third", "h200_scatter_third.json");
  const Ratios& half = times.at("scatter half contended");
  CHECK(half.sorted.size() == 100);
  CHECK(half.median() < 1.14);  // the goal: 1.3
  CHECK(half.within(2) == 96);  // not the goal of 100: 2.1, 2.1, 2.8 and 3.1
  CHECK(half.worst() < 3.1);
  CHECK(narrow.sorted.size() == 82);
  CHECK(narrow.median() < 1.13);
  CHECK(narrow.worst() < 1.54);
  CHECK(times.at("scatter fp32 contended").within(1.15) == 24);    // of 30
  CHECK(times.at("scatter fp32 uniform").within(1.15) == 18);      // of 20
  CHECK(times.at("scatter half uniform").within(1.15) == 23);      // of 25
  CHECK(sectors.at("scatter fp32 uniform").within(1.05) == 20);    // all
  CHECK(sectors.at("scatter half uniform").within(1.05) == 25);    // all
  CHECK(sectors.at("scatter fp32 contended").within(1.05) == 30);  // all
  CHECK(sectors.at("scatter half contended").within(1.05) == 60);  // of 100: retries
}

TEST_CASE(
    "scatters of a fourth and a fifth draw, on two devices: 96, 94, 96 and 95 of 100 contended ones within "
    "two") {
  struct Draw {
    std::string suite, device;
    double median, worst;
    int within_two, fp32_contended, fp32_uniform, half_uniform, sectors;
  };
  // The goals: 1.3, 2, 100, 30, 20, 25, 100. No constant of the H100's law was fitted on an H100.
  for (const Draw& d : {Draw{"fourth", "h200", 1.15, 3.49, 96, 25, 19, 22, 43},
                        Draw{"fourth", "h100", 1.14, 3.04, 94, 25, 17, 17, 41},
                        Draw{"fifth", "h200", 1.19, 2.40, 96, 26, 18, 21, 36},
                        Draw{"fifth", "h100", 1.16, 3.17, 95, 25, 19, 19, 41}}) {
    INFO(d.suite << " on " << d.device);
    auto [times, sectors, narrow] =
        scatter_score("scatter-" + d.suite, d.device + "_scatter_" + d.suite + ".json", d.device);
    const Ratios& half = times.at("scatter half contended");
    CHECK(half.sorted.size() == 100);
    CHECK(half.median() < d.median);
    CHECK(half.worst() < d.worst);
    CHECK(half.within(2) == d.within_two);
    CHECK(times.at("scatter fp32 contended").within(1.15) == d.fp32_contended);
    CHECK(times.at("scatter fp32 uniform").within(1.15) == d.fp32_uniform);
    CHECK(times.at("scatter half uniform").within(1.15) == d.half_uniform);
    CHECK(sectors.at("scatter half contended").within(1.05) == d.sectors);  // retries
    CHECK(sectors.at("scatter fp32 uniform").within(1.05) == 20);
  }
}

TEST_CASE("the intervals that were stated first hold 174 of 175 times, and every one of a long row") {
  const Json predictions =
      Json::parse(read_text("predictions", kData + "predictions/h200_scatter_third.json"));
  std::map<std::string, Json> frozen;
  for (const Json& row : predictions["rows"]) {
    ScatterCase point;
    point.dtype = parse_name<Dtype>(row[0].get<std::string>());
    point.width = row[1];
    point.updates = row[2];
    point.rows = row[3];
    point.distribution = parse_index_distribution(row[4].get<std::string>());
    point.seed = row[5];
    point.queued = true;
    frozen[point.key()] = row;
  }
  std::map<std::string, int> all, inside, beyond_two;
  for (const Recording& recording : test::shipped_recordings()) {
    if (recording.head.suite != "scatter-third") continue;
    for (const RecordedRow& row : recording.rows) {
      const Json& said = frozen.at(key_of(row.point));
      const double ns = row.timing->milliseconds.median * 1e6, time = said[6];
      const std::string kind = said[11];
      ++all[kind];
      const bool holds = said[12].get<double>() <= ns && ns <= said[13].get<double>();
      inside[kind] += holds ? 1 : 0;
      if (std::max(time / ns, ns / time) > 2) {
        ++beyond_two[kind];
        CHECK(holds);
      }
    }
  }
  CHECK(all == std::map<std::string, int>{
                   {"collapse", 56}, {"long-collapse", 16}, {"reduction", 11}, {"stream", 92}});
  CHECK(inside == std::map<std::string, int>{
                      {"collapse", 56}, {"long-collapse", 16}, {"reduction", 10}, {"stream", 92}});
  CHECK(beyond_two == std::map<std::string, int>{{"long-collapse", 4}});
}

/// Predicted and measured times of the paths of one load.
struct RemedyTimes {
  std::map<std::string, double> predicted, measured;
};

TEST_CASE("of 40 fresh loads the remedy that was predicted to be fastest is, or is close") {
  std::map<std::string, RemedyTimes> loads;
  const auto load_of = [](const Json& row) { return row.dump(); };
  const Json predictions =
      Json::parse(read_text("predictions", kData + "predictions/h200_remedies_fresh.json"));
  for (const Json& row : predictions["rows"])
    loads[load_of({row[1], row[2], row[3], row[4], row[5]})].predicted[row[0]] = row[6];
  const Json recorded =
      Json::parse(read_text("recording", kData + "recordings/nvidia-h200-remedies-fresh.json"));
  for (const Json& row : recorded["rows"]) {
    const Json& p = row["point"];
    loads.at(load_of({p["dtype"], p["width"], p["updates"], p["rows"], p["distribution"]}))
        .measured[p["path"]] = row["time_ms"]["median"].get<double>() * 1e6;
  }
  CHECK(loads.size() == 40);
  int wins = 0, close = 0;
  double worst = 1;
  std::map<std::string, Ratios> paths;
  const auto faster = [](const auto& a, const auto& b) { return a.second < b.second; };
  for (const auto& [load, times] : loads) {
    REQUIRE(times.predicted.size() == times.measured.size());
    for (const auto& [path, ns] : times.predicted) paths[path].add(ns, times.measured.at(path));
    const auto chosen = std::min_element(times.predicted.begin(), times.predicted.end(), faster)->first;
    const auto best = std::min_element(times.measured.begin(), times.measured.end(), faster)->second;
    const double longer = times.measured.at(chosen) / best;
    wins += longer == 1 ? 1 : 0;
    close += longer <= 1.05 ? 1 : 0;
    worst = std::max(worst, longer);
  }
  CHECK(wins == 34);
  CHECK(close == 37);
  CHECK(worst < 1.33);
  for (auto& [path, ratios] : paths) ratios.sort();
  CHECK(paths.at("sorted").within(1.25) == 37);            // of 40; 3 of 60 before it was remade
  CHECK(paths.at("red-4").within(1.25) == 30);             // of 31
  CHECK(paths.at("red-16").within(1.25) == 33);            // of 40
  CHECK(paths.at("fp32-accumulator").within(1.25) == 17);  // of 31: short ones are too fast
  CHECK(paths.at("private").within(1.25) == 22);           // of 40
  CHECK(paths.at("scalar").within(1.25) == 16);            // of 29: retries
  CHECK(paths.at("scalar").worst() < 6.7);
}

TEST_CASE("deformable attention that was predicted first, and the error that its answers state") {
  std::map<std::string, double> frozen;  // times, by the point's key
  const Json predictions = Json::parse(read_text("predictions", kData + "predictions/h200_msda_blind.json"));
  for (const Json& row : predictions.at("rows")) {
    if (row[1] == "launch_time_ns") frozen[row[0]] = row[3];
  }
  Ratios all;
  std::map<std::pair<MsdaPhase, MsdaTiling>, Ratios> parts;
  for (const Recording& recording : test::shipped_recordings()) {
    if (recording.head.suite != "msda-blind") continue;
    for (const RecordedRow& row : recording.rows) {
      const auto* const point = row.point.as<MsdaCase>();
      REQUIRE(point != nullptr);
      CHECK_FALSE(point->fitted);
      const double measured = row.timing->milliseconds.median * 1e6, predicted = frozen.at(point->key());
      all.add(predicted, measured);
      parts[{point->phase, point->tiling}].add(predicted, measured);
    }
  }
  all.sort();
  CHECK(all.sorted.size() == 160);
  CHECK(all.median() < 1.10);
  CHECK(all.within(1.25) == 141);
  CHECK(all.worst() < 1.88);
  const std::vector<MsdaCostError> stated = builtin_catalog().device("h200").msda_costs->errors;
  CHECK(stated.size() == parts.size());
  for (const MsdaCostError& error : stated) {
    const Ratios& part = parts.at({error.phase, error.tiling});
    CHECK(error.unfitted_points == std::ssize(part.sorted));
    double logarithms = 0, worst = 1;
    for (const double ratio : part.sorted) {
      logarithms += std::log(ratio);
      worst = std::max(worst, ratio);
    }
    CHECK(std::abs(error.unfitted_worst_ratio - worst) < 0.01);
    CHECK(std::abs(error.unfitted_mean_ratio -
                   std::exp(logarithms / static_cast<double>(part.sorted.size()))) < 0.01);
  }
}

/// Times of the backward's two judged suites, by point, and what was frozen of them and of the fitted points.
struct BackwardTimes {
  std::map<std::string, double> frozen, measured;  // nanoseconds
  Ratios missed;
};

BackwardTimes backward_times() {
  BackwardTimes times;
  for (const char* file : {"h200_backward.json", "h200_backward_masks.json", "h200_backward_costs.json"}) {
    const Json predictions = Json::parse(read_text("predictions", kData + "predictions/" + file));
    for (const Json& row : predictions.at("rows")) times.frozen[row[0]] = row[3];
  }
  for (const Recording& recording : test::shipped_recordings()) {
    const std::string& suite = recording.head.suite;
    if (suite != "backward" && suite != "backward-masks" && suite != "backward-costs") continue;
    for (const RecordedRow& row : recording.rows) {
      const std::string key = row.point->key();
      times.measured[key] = row.timing->milliseconds.median * 1e6;
      if (suite != "backward-costs") times.missed.add(times.frozen.at(key), times.measured[key]);
    }
  }
  times.missed.sort();
  return times;
}

TEST_CASE(
    "times of shifts with spread starts that were predicted first: 49 of 56 within 5%, all within 12%") {
  std::map<std::string, double> frozen;
  const Json predictions =
      Json::parse(read_text("predictions", kData + "predictions/h200_backward_spread.json"));
  for (const Json& row : predictions.at("rows")) frozen[row[0]] = row[3];
  const Json fitted = Json::parse(read_text("predictions", kData + "predictions/h200_backward_costs.json"));
  for (const Json& row : fitted.at("rows")) frozen.erase(row[0].get<std::string>());
  int judged = 0, within = 0;
  for (const Recording& recording : test::shipped_recordings()) {
    if (recording.head.suite != "backward-spread") continue;
    for (const RecordedRow& row : recording.rows) {
      const auto predicted = frozen.find(row.point->key());
      if (predicted == frozen.end()) continue;
      const double off = std::abs(row.timing->milliseconds.median * 1e6 / predicted->second - 1);
      CHECK(off < 0.12);
      ++judged;
      within += off < 0.05;
    }
  }
  CHECK(judged == 56);
  CHECK(within == 49);
}

TEST_CASE(
    "backward times that were predicted first: 288 of 396 within 5%, 418 of 441 pairs of orders the right "
    "way") {
  const BackwardTimes times = backward_times();
  CHECK(times.missed.sorted.size() == 396);
  CHECK(times.missed.median() < 1.031);
  std::map<std::string, std::vector<std::string>>
      orders;  // deterministic points that were not fitted, by problem
  for (const char* file : {"h200_backward.json", "h200_backward_masks.json"}) {
    const Json predictions = Json::parse(read_text("predictions", kData + "predictions/" + file));
    for (const Json& row : predictions.at("rows")) {
      const std::string key = row[0];
      std::string problem = key.substr(0, key.rfind(' '));
      if (key.ends_with(" deterministic")) orders[problem.substr(0, problem.rfind(' '))].push_back(key);
    }
  }
  int pairs = 0, right = 0;
  for (const auto& [problem, keys] : orders) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double a = times.measured.at(keys[i]), b = times.measured.at(keys[j]);
        if (std::max(a, b) <= 1.03 * std::min(a, b)) continue;
        ++pairs;
        right += (a - b) * (times.frozen.at(keys[i]) - times.frozen.at(keys[j])) > 0 ? 1 : 0;
      }
    }
  }
  CHECK(pairs == 441);
  CHECK(right == 418);
  const auto within = std::ranges::count_if(times.measured, [&](const auto& point) {
    return std::abs(times.frozen.at(point.first) / point.second - 1) <= 0.05;
  });
  CHECK(within == 288 + 59);  // and 59 of the 62 that the costs were fitted to
}

}  // namespace frozen_predictions_test

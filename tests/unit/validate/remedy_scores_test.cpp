#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/json.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace remedy_scores_test {

using namespace natten_sim;

const std::string kData = std::string(natten_sim::test::kSourceDir) + "/data/";

/// Ratios of frozen predictions and what was timed, by the path or operator of the point.
std::map<std::string, std::vector<double>> ratios_of(const std::string& predictions_file,
                                                     const std::string& recording_file) {
  const Json predictions = Json::parse(read_text("predictions", kData + "predictions/" + predictions_file));
  const Json recorded = Json::parse(read_text("recording", kData + "recordings/" + recording_file));
  std::map<std::string, double> frozen;
  const auto path_of = [](const Json& point) { return point.contains("path") ? point["path"] : point["operator"]; };
  for (const Json& row : predictions["rows"])
    frozen[Json({row[0], row[1], row[2], row[3], row[4], row[5]}).dump()] = row[6];
  std::map<std::string, std::vector<double>> ratios;
  for (const Json& row : recorded["rows"]) {
    const Json& p = row["point"];
    const Json key = {path_of(p), p["dtype"], p["width"], p["updates"], p["rows"], p["distribution"]};
    const double ratio = frozen.at(key.dump()) / (row["time_ms"]["median"].get<double>() * 1e6);
    ratios[path_of(p)].push_back(std::max(ratio, 1 / ratio));
  }
  return ratios;
}

TEST_CASE("scores of remedies are those of the predictions that were frozen") {
  std::map<std::string, std::vector<double>> ratios =
      ratios_of("h200_remedies_fresh.json", "nvidia-h200-remedies-fresh.json");
  ratios.merge(ratios_of("h200_index_add.json", "nvidia-h200-index-add-fresh.json"));
  const Json data = Json::parse(read_text("data", kData + "contention.json"));
  CHECK(data["remedy_scores"].size() == 6);
  for (const Json& score : data["remedy_scores"]) {
    CAPTURE(score.dump());
    std::vector<double> sorted = ratios.at(score["path"]);
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    CHECK(score["points"] == n);
    CHECK(score["worst_ratio"] == Approx(sorted.back()).epsilon(1e-3));
    CHECK(score["median_ratio"] == Approx((sorted[(n - 1) / 2] + sorted[n / 2]) / 2).epsilon(1e-3));
    double logs = 0;
    for (const double ratio : sorted) logs += std::log(ratio);
    CHECK(score["mean_ratio"] == Approx(std::exp(logs / static_cast<double>(n))).epsilon(1e-3));
    // Conformal: of n + 1 exchangeable ratios nine of ten lie at or below the ceil(0.9 (n + 1))th of n.
    const auto rank = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(n + 1)));
    CHECK(score["interval_ratio"] == Approx(sorted[rank - 1]).epsilon(1e-3));
    const BlindScore& read = remedy_scores().at(score["remedy"]);
    CHECK(read.device == "h200");
    CHECK(read.interval_ratio == score["interval_ratio"].get<double>());
  }
}

}  // namespace remedy_scores_test

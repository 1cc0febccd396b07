// Deviations, verdicts and summaries by hand; predictors against sums by hand; the shipped recordings.
#include <cmath>
#include <limits>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/comparison.hpp>
#include <natten_sim/validate/report.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::validate;

Suite example_suite() {
  Suite suite;
  suite.name = "stream";
  suite.tolerances = {{"dram_read_bytes", "", "sawtooth", 0.05}, {"dram_read_bytes", "m", "", 0.10}};
  suite.known_misses = {{"dram_read_bytes", "m", "32 MiB", 0.5, 1, "because"}};
  return suite;
}

ComparisonRow row(const std::string& point, const std::string& group, double deviation) {
  ComparisonRow result;
  result.suite = "stream";
  result.point = point;
  result.group = group;
  result.counter = "dram_read_bytes";
  result.model = "m";
  result.deviation = deviation;
  return result;
}

Verdict verdict(const std::string& point, const std::string& group, double deviation) {
  ComparisonRow judged = row(point, group, deviation);
  judge(example_suite(), judged);
  return judged.verdict;
}

TEST_CASE("a deviation is judged by the first tolerance whose group fits") {
  CHECK(verdict("64 MiB", "stream cyclic", 0.10) == Verdict::kWithin);
  CHECK(verdict("64 MiB", "stream cyclic", -0.10) == Verdict::kWithin);
  CHECK(verdict("64 MiB", "stream cyclic", 0.1001) == Verdict::kOutside);
  CHECK(verdict("64 MiB", "stream sawtooth", 0.06) == Verdict::kOutside);
  CHECK(verdict("64 MiB", "stream sawtooth", -0.05) == Verdict::kWithin);
}

TEST_CASE("a known miss is excused up to its worst, and no further") {
  CHECK(verdict("32 MiB", "stream sawtooth", 0.5) == Verdict::kKnownMiss);
  CHECK(verdict("32 MiB", "stream sawtooth", -0.51) == Verdict::kOutside);
  CHECK(verdict("64 MiB", "stream sawtooth", 0.5) == Verdict::kOutside);
}

TEST_CASE("a deviation that is no number is a miss") {
  CHECK(verdict("64 MiB", "stream", std::numeric_limits<double>::quiet_NaN()) == Verdict::kOutside);
  CHECK(verdict("32 MiB", "stream", std::numeric_limits<double>::quiet_NaN()) == Verdict::kOutside);
}

TEST_CASE("without a tolerance nothing is judged") {
  ComparisonRow other = row("64 MiB", "stream", 9);
  other.counter = "l2_tex_sectors";
  judge(example_suite(), other);
  CHECK(other.verdict == Verdict::kNoTolerance);
  other.counter = "dram_read_bytes";
  other.model = "another";
  judge(example_suite(), other);
  CHECK(other.verdict == Verdict::kNoTolerance);
}

TEST_CASE("summaries keep fitted points apart and name the worst") {
  std::vector<ComparisonRow> rows = {row("a", "g", 0.1), row("b", "g", -0.3), row("c", "h", 0.2),
                                     row("d", "g", 0.9)};
  rows[3].fitted = true;
  const std::vector<GroupSummary> groups = summarise(rows);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].group.empty());
  CHECK(groups[1].group == "g");
  CHECK(groups[2].group == "h");
  REQUIRE(groups[0].not_fitted);
  CHECK(groups[0].not_fitted->points == 3);
  CHECK(std::abs(groups[0].not_fitted->mape - 0.2) < 1e-12);
  CHECK(std::abs(groups[0].not_fitted->median - 0.2) < 1e-12);
  CHECK(groups[0].not_fitted->worst == 0.3);
  CHECK(groups[0].not_fitted->worst_point == "b");
  REQUIRE(groups[0].fitted);
  CHECK(groups[0].fitted->points == 1);
  CHECK_FALSE(groups[2].fitted);
}

double predicted(const std::vector<std::string>& words, const std::string& counter) {
  const Catalog catalog = builtin_catalog();
  for (const Prediction& prediction : predict(parse_point_words(words), catalog.device("h200"))) {
    if (prediction.counter == counter) return prediction.value;
  }
  return -1;
}

TEST_CASE(
    "sectors of split-Q attention are those of tables 1 and 2 of the Sawtooth paper, without the stores") {
  // Table 2: 107,741,184 and 1,719,664,640 sectors, of which S * D * 2 / 32 are stores of O.
  for (const auto& [tokens, total] : {std::pair{32768, 107741184}, {131072, 1719664640}}) {
    CHECK(predicted({"tokens=" + std::to_string(tokens), "head_dim=64", "q_tile=80", "kv_tile=80",
                     "ctas_per_sm=1", "schedule=grid", "order=cyclic"},
                    "l2_read_sectors") == total - tokens * 4);
  }
}

TEST_CASE("causal sectors are summed over the tiles up to the diagonal") {
  // 300 tokens, Q tiles 128, KV tiles 64, 4 sectors a row: Q 300 rows; K and V 128, 256 and 300 rows.
  CHECK(predicted({"tokens=300", "head_dim=64", "causal=true", "q_tile=128", "kv_tile=64", "ctas_per_sm=1",
                   "schedule=grid", "order=cyclic", "heads=3", "batch=2"},
                  "l2_read_sectors") == 6 * 4 * (300 + 2 * (128 + 256 + 300)));
}

TEST_CASE("a sawtooth stream rereads what exceeds the capacity, a cyclic one everything") {
  const double capacity = 30723277, bytes = 64 << 20;
  CHECK(predicted({"kernel=stream", "buffer_mib=64", "order=cyclic"}, "dram_read_bytes") == 8 * bytes);
  CHECK(predicted({"kernel=stream", "buffer_mib=64", "order=sawtooth"}, "dram_read_bytes") ==
        8 * bytes - 7 * capacity);
  CHECK(predicted({"kernel=stream", "buffer_mib=16", "order=cyclic"}, "dram_read_bytes") == 16 << 20);
  CHECK(predicted({"kernel=stream", "buffer_mib=64", "order=cyclic"}, "l2_read_sectors") ==
        132.0 * 8 * bytes / 32);
}

TEST_CASE("every shipped recording compares within tolerance or with a documented miss") {
  const std::vector<Recording> recordings =
      read_recordings(std::string(NATTEN_SIM_SOURCE_DIR) + "/data/recordings");
  const Comparison comparison = compare(recordings, builtin_suites(), builtin_catalog().devices);
  CHECK(comparison.rows.size() >= 320);
  for (const ComparisonRow& each : comparison.rows) {
    INFO(each.point << ": " << each.counter << " deviates by " << each.deviation);
    CHECK(each.verdict != Verdict::kOutside);
  }
  CHECK(comparison.outside == 0);
}

TEST_CASE("every point of the shipped suites is recorded on the H200, with at least 20 timed repetitions") {
  for (const Recording& recording :
       read_recordings(std::string(NATTEN_SIM_SOURCE_DIR) + "/data/recordings")) {
    const Suite& suite = find_suite(builtin_suites(), recording.head.suite);
    CHECK(recording.rows.size() == suite.points.size());
    for (const RecordedRow& each : recording.rows) {
      INFO(key_of(each.point));
      CHECK(each.status == "measured");
      CHECK(each.counters.size() == suite.counters.size());
      CHECK(each.timing.has_value() == suite.timed);
      CHECK(each.pace.has_value() == suite.paced);
      if (each.timing) CHECK(each.timing->repetitions >= 20);
    }
  }
}

TEST_CASE("a report is one file that names its data and refers to no other") {
  const std::vector<Recording> recordings =
      read_recordings(std::string(NATTEN_SIM_SOURCE_DIR) + "/data/recordings");
  const Comparison comparison = compare(recordings, builtin_suites(), builtin_catalog().devices);
  const std::string html = html_report(recordings, comparison);
  CHECK(html.find("<svg") != std::string::npos);
  CHECK(html.find("NVIDIA H200") != std::string::npos);
  CHECK(html.find("src=") == std::string::npos);
  CHECK(html.find("href=") == std::string::npos);
  CHECK(html.find("nan") == std::string::npos);
}

TEST_CASE("a chart leaves out what a logarithmic axis cannot show, and refuses to be empty") {
  Chart chart{"t", "x", "y", true, true, false, {{"a<b", {{1, 1}, {0, 5}, {10, -1}, {10, 10}}, true}}};
  const std::string svg = svg_chart(chart);
  std::size_t circles = 0;
  for (std::size_t at = svg.find("r='3'"); at != std::string::npos; at = svg.find("r='3'", at + 1)) ++circles;
  CHECK(circles == 2);
  CHECK(svg.find("a&lt;b") != std::string::npos);
  chart.series[0].points = {{0, 0}};
  CHECK_THROWS_AS(svg_chart(chart), InvalidParameter);
}

}  // namespace

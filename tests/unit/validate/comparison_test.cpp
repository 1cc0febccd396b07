// Deviations, verdicts and summaries by hand; predictors against sums by hand; the shipped recordings.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/cases/stream.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

#include "catch.hpp"
#include "shipped_recordings.hpp"

namespace comparison_test {

using namespace natten_sim;
using namespace natten_sim::validate;
using namespace natten_sim::test;

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
  CHECK(verdict("64 MiB", "stream cyclic", -0.09) == Verdict::kWithin);   // 1 / 0.91 = 1.0989
  CHECK(verdict("64 MiB", "stream cyclic", -0.10) == Verdict::kOutside);  // 1 / 0.90 = 1.1111
  CHECK(verdict("64 MiB", "stream cyclic", 0.1001) == Verdict::kOutside);
  CHECK(verdict("64 MiB", "stream sawtooth", 0.06) == Verdict::kOutside);
  CHECK(verdict("64 MiB", "stream sawtooth", -0.05) == Verdict::kOutside);  // 1 / 0.95 = 1.0526
  CHECK(verdict("64 MiB", "stream sawtooth", -0.047) == Verdict::kWithin);  // 1 / 0.953 = 1.0493
}

TEST_CASE("a known miss is excused up to its worst, and no further") {
  CHECK(verdict("32 MiB", "stream sawtooth", 0.5) == Verdict::kKnownMiss);
  CHECK(verdict("32 MiB", "stream sawtooth", -0.33) == Verdict::kKnownMiss);  // 1 / 0.67 = 1.4925
  CHECK(verdict("32 MiB", "stream sawtooth", -0.34) == Verdict::kOutside);    // 1 / 0.66 = 1.5152
  CHECK(verdict("64 MiB", "stream sawtooth", 0.5) == Verdict::kOutside);
}

/// A recording of streams of these sizes on an H200, read from DRAM as often as given.
Recording recorded_streams(const std::vector<std::pair<std::int64_t, double>>& rows) {
  Recording recording;
  recording.head.suite = "stream";
  recording.head.device = {"NVIDIA H200", "h200", 132, 1, 1, "9.0"};
  for (const auto& [mib, passes] : rows) {
    StreamCase point;
    point.buffer_mib = mib;
    const double bytes = passes * static_cast<double>(mib << 20);
    recording.rows.push_back(
        {point, "measured", {{"dram_read_bytes", {{bytes, bytes, bytes, bytes}, 3}}}, {}});
  }
  return recording;
}

Suite stream_suite(double tolerance, std::vector<KnownMiss> misses) {
  Suite suite;
  suite.name = "stream";
  suite.counters = {"dram_read_bytes"};
  suite.tolerances = {{"dram_read_bytes", "", "", tolerance}};
  suite.known_misses = std::move(misses);
  return suite;
}

std::vector<Verdict> verdicts(const Comparison& comparison) {
  std::vector<Verdict> all;
  for (const ComparisonRow& each : comparison.rows) all.push_back(each.verdict);
  return all;
}

TEST_CASE("a known miss excuses as many points as it is known for, and the next one is new") {
  // Eight passes are predicted, four were read: twice too much.
  const Recording recording = recorded_streams({{64, 4}, {80, 8}, {96, 4}, {128, 4}});
  const Suite suite = stream_suite(0.05, {{"dram_read_bytes", "", "stream ", 1.0, 2, "because"}});
  const Comparison comparison = compare({recording}, {suite}, builtin_catalog().devices);
  CHECK(verdicts(comparison) ==
        std::vector<Verdict>{Verdict::kKnownMiss, Verdict::kWithin, Verdict::kKnownMiss, Verdict::kOutside});
  CHECK(comparison.outside == 1);
  CHECK(comparison.rows[3].cause == "one more than the 2 points known for: because");
  // The number is of one recording: another machine has its own.
  CHECK(compare({recording, recording}, {suite}, builtin_catalog().devices).outside == 2);
}

TEST_CASE("a tolerance with a score judges its points together, and no known miss excuses them") {
  // Deviations 1, 0, 1, 1: a quarter is within, the median is 1.
  const Recording recording = recorded_streams({{64, 4}, {80, 8}, {96, 4}, {128, 4}});
  Suite suite = stream_suite(0.05, {{"dram_read_bytes", "", "stream ", 1.0, 4, "because"}});
  suite.tolerances[0].score = Score{4, 0.25, 1.0, 1.0, -1};
  const std::vector<Device>& devices = builtin_catalog().devices;
  const Comparison held = compare({recording}, {suite}, devices);
  CHECK(verdicts(held) == std::vector<Verdict>(4, Verdict::kScored));
  REQUIRE(held.scores.size() == 1);
  CHECK(held.scores[0].reached.within == Approx(0.25));
  CHECK((held.scored == 4 && held.within == 0 && held.excused == 0 && held.outside == 0));
  CHECK(all_hold(held));
  suite.tolerances[0].score->median = 0.9;
  const Comparison below = compare({recording}, {suite}, devices);
  CHECK(below.scores_missed == 1);
  CHECK_FALSE(all_hold(below));
  suite.tolerances[0].score->points = 5;  // it had more points: shown and not judged
  const Comparison partial = compare({recording}, {suite}, devices);
  CHECK_FALSE(partial.scores.at(0).judged());
  CHECK(all_hold(partial));
  // The points of all recordings of a suite count together.
  CHECK(compare({recording, recording}, {suite}, devices).scores.at(0).reached.points == 8);
}

TEST_CASE("a counter that saw nothing of what was predicted is a miss") {
  const Recording recording = recorded_streams({{64, 0}, {80, 8}});
  const Comparison comparison = compare({recording}, {stream_suite(0.05, {})}, builtin_catalog().devices);
  CHECK(verdicts(comparison) == std::vector<Verdict>{Verdict::kOutside, Verdict::kWithin});
  CHECK(comparison.outside == 1);
  CHECK(std::isinf(comparison.rows[0].deviation));
  REQUIRE(comparison.groups.at(0).not_fitted);
  CHECK(comparison.groups[0].not_fitted->points == 2);
}

TEST_CASE("GPUs are summed up apart") {
  Recording other = recorded_streams({{64, 8}});
  other.head.device = {"NVIDIA A100", "a100", 108, 1, 1, "8.0"};
  other.rows[0].counters = {{"l2_read_sectors", {{1, 1, 1, 1}, 3}}};
  Recording mine = recorded_streams({{64, 8}});
  mine.rows[0].counters = other.rows[0].counters;
  const Comparison comparison = compare({mine, other}, {stream_suite(0.05, {})}, builtin_catalog().devices);
  REQUIRE(comparison.groups.size() == 4);
  CHECK(comparison.groups[0].device == "h200");
  CHECK(comparison.groups[1].device == "a100");
  // Every CTA reads every sector: 132 of them on the one, 108 on the other.
  CHECK(comparison.rows[0].predicted * 108 == comparison.rows[1].predicted * 132);
}

TEST_CASE("a slice of a GPU is not compared with predictions for the whole") {
  Recording slice = recorded_streams({{64, 8}});
  slice.head.device.name = "NVIDIA H200 MIG 1g.18gb";
  slice.head.device.sms = 16;
  const Comparison comparison = compare({slice}, {stream_suite(0.05, {})}, builtin_catalog().devices);
  CHECK(comparison.rows.empty());
  REQUIRE(comparison.notes.size() == 1);
  CHECK(comparison.notes[0].find("has 132 SMs, 'NVIDIA H200 MIG 1g.18gb' has 16") != std::string::npos);
}

TEST_CASE("notes say what a recording lacks of its suite") {
  Suite suite = stream_suite(0.05, {});
  Recording recording = recorded_streams({{64, 8}, {80, 8}});
  for (const std::int64_t mib : {64, 80, 96, 128}) {
    StreamCase point;
    point.buffer_mib = mib;
    suite.points.emplace_back(point);
  }
  recording.rows[0].counters.clear();
  recording.rows[1].status = "out of memory";  // when it was timed: its counters stand
  const Comparison comparison = compare({recording}, {suite}, builtin_catalog().devices);
  CHECK(comparison.rows.size() == 1);
  CHECK(comparison.notes ==
        std::vector<std::string>{"stream: 2 points of the suite are not recorded",
                                 "stream: 1 points lack counters",
                                 "stream: stream 80 MiB x8 all SMs cyclic full speed: out of memory"});
}

TEST_CASE("no shipped suite excuses a miss") {
  for (const Suite& suite : builtin_suites()) {
    INFO(suite.name);
    CHECK(suite.known_misses.empty());
  }
}

/// Predictions for the points of a suite that a tolerance would judge.
std::size_t judged_once_recorded(const Suite& suite, const Tolerance& tolerance) {
  static const Catalog catalog = builtin_catalog();
  const auto h200 = std::find_if(catalog.devices.begin(), catalog.devices.end(),
                                 [](const Device& each) { return each.name == "h200"; });
  REQUIRE(h200 != catalog.devices.end());
  std::size_t judged = 0;
  for (const Point& point : suite.points) {
    if (group_of(point).find(tolerance.group) == std::string::npos) continue;
    for (const Prediction& each : predict(point, *h200)) {
      judged += each.counter == tolerance.counter && each.model.find(tolerance.model) != std::string::npos;
    }
  }
  return judged;
}

/// `recordings` are those of the comparison.
void check_tolerances(const std::vector<Recording>& recordings, const Comparison& comparison) {
  for (const ComparisonRow& each : comparison.rows) {
    INFO(each.suite << ": " << each.counter << ", " << each.model);
    CHECK(each.verdict != Verdict::kNoTolerance);
  }
  for (const Suite& suite : builtin_suites()) {
    // A script may have measured a part of somebody else's kernels.
    const bool recorded = std::any_of(recordings.begin(), recordings.end(), [&](const Recording& each) {
      return each.head.suite == suite.name && each.rows.size() == suite.points.size();
    });
    for (const Tolerance& tolerance : suite.tolerances) {
      if (tolerance.model.find("timed") != std::string::npos) continue;
      INFO(suite.name << ": " << tolerance.counter << " " << tolerance.model << " " << tolerance.group);
      if (!recorded) {
        if (!is_slow(suite.name)) CHECK(judged_once_recorded(suite, tolerance) > 0);
        continue;
      }
      const auto judged =
          std::count_if(comparison.rows.begin(), comparison.rows.end(), [&](const ComparisonRow& each) {
            return each.suite == suite.name && each.counter == tolerance.counter &&
                   each.model.find(tolerance.model) != std::string::npos &&
                   each.group.find(tolerance.group) != std::string::npos;
          });
      CHECK(judged > 0);
    }
  }
}

TEST_CASE("every tolerance of a suite that is quick to compare judges something, and every comparison has one") {
  check_tolerances(quick_recordings(), quick_comparison());
}

TEST_CASE("every shipped tolerance judges something, and every comparison has one", "[.nightly][long]") {
  check_tolerances(shipped_recordings(), whole_comparison());
}

TEST_CASE("no known miss of the timed model excuses points that were not looked into") {
  for (const KnownMiss& miss : find_suite(builtin_suites(), "reuse").known_misses) {
    std::size_t fits = 0;
    for (const Point& point : find_suite(builtin_suites(), "reuse").points)
      fits += key_of(point).find(miss.point) != std::string::npos ? 1 : 0;
    INFO(miss.model << ": " << miss.point);
    CHECK(fits >= miss.points);          // none is there for points that there are not
    CHECK(fits <= 2 * miss.points + 2);  // nor is its pattern much broader than what it excuses
  }
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

TEST_CASE("of few points the 95th percentile is the worst, of twenty the second worst") {
  for (const std::size_t n : {1u, 2u, 5u, 19u, 20u, 40u, 100u}) {
    std::vector<ComparisonRow> rows;
    for (std::size_t i = 1; i <= n; ++i) rows.push_back(row("p", "g", static_cast<double>(i) / 128));
    const ErrorSummary errors = *summarise(rows).at(0).not_fitted;
    // Nearest rank: the smallest i with i / n >= 0.95.
    std::size_t rank = 1;
    while (rank * 100 < 95 * n) ++rank;
    CHECK(errors.p95 * 128 == static_cast<double>(rank));
    CHECK(errors.worst * 128 == static_cast<double>(n));
    CHECK(errors.mape * 128 == static_cast<double>(n + 1) / 2);
    CHECK(errors.median * 128 == static_cast<double>(n + 1) / 2);
  }
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
  // An L2 of 30,723,277 bytes keeps whole sectors of 32.
  const double capacity = 30723277 / 32 * 32, bytes = 64 << 20;
  CHECK(predicted({"kernel=stream", "buffer_mib=64", "order=cyclic"}, "dram_read_bytes") == 8 * bytes);
  // All but what the first and last rounds of sets share.
  CHECK(predicted({"kernel=stream", "buffer_mib=64", "order=sawtooth"}, "dram_read_bytes") ==
        Approx(8 * bytes - 7 * capacity).epsilon(0.002));
  CHECK(predicted({"kernel=stream", "buffer_mib=16", "order=cyclic"}, "dram_read_bytes") == 16 << 20);
  CHECK(predicted({"kernel=stream", "buffer_mib=64", "order=cyclic"}, "l2_read_sectors") ==
        132.0 * 8 * bytes / 32);
}

void check_within(const Comparison& comparison) {
  for (const ComparisonRow& each : comparison.rows) {
    INFO(each.point << ": " << each.counter << " deviates by " << each.deviation);
    CHECK(each.verdict != Verdict::kOutside);
  }
  CHECK(comparison.outside == 0);
  CHECK(comparison.within + comparison.excused + comparison.scored == comparison.rows.size());
}

void check_score(const ScoreResult& score) {
  INFO(score.suite << ": " << score.counter << ", " << score.model << ", " << score.group);
  CHECK(score.judged());
  CHECK(score.held());
}

TEST_CASE("recordings compare within tolerance, those of slow suites by every 48th point") {
  const Comparison& comparison = quick_comparison();
  CHECK(comparison.rows.size() >= 320);
  check_within(comparison);
  for (const ScoreResult& score : comparison.scores) {
    if (!is_slow(score.suite)) check_score(score);
  }
}

TEST_CASE("every shipped recording compares within tolerance, with a documented miss, or as a score that holds",
          "[.nightly][long]") {
  const Comparison& comparison = whole_comparison();
  check_within(comparison);
  for (const ScoreResult& score : comparison.scores) check_score(score);
  CHECK(all_hold(comparison));
}

/// Suites whose predictions were frozen before their points were measured.
TEST_CASE("nothing is excused in a suite that was predicted first") {
  for (const char* name : {"held-out", "fresh", "forward", "gna", "flex", "natten", "schedules", "backward"}) {
    INFO(name);
    CHECK(find_suite(builtin_suites(), name).known_misses.empty());
  }
}

TEST_CASE("every recording of our kernels has all points, those on the H200 with 20 timed repetitions") {
  for (const Recording& recording : shipped_recordings()) {
    const Suite& suite = find_suite(builtin_suites(), recording.head.suite);
    if (suite.points.front().as<ForeignCase>() != nullptr) continue;
    CHECK(recording.rows.size() == suite.points.size());
    for (const RecordedRow& each : recording.rows) {
      INFO(key_of(each.point));
      CHECK(each.status == "measured");
      CHECK(each.counters.size() == suite.counters.size());
      CHECK(each.timing.has_value() == suite.timed);
      CHECK(each.pace.has_value() == suite.paced);
      if (each.timing && recording.head.device.profile == "h200") CHECK(each.timing->repetitions >= 20);
    }
  }
}

}  // namespace comparison_test

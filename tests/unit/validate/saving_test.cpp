// What sawtooths save, by hand; the shipped recordings within the goal.
#include <cmath>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/cases/stream.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/compare/saving.hpp>
#include <natten_sim/io/catalog.hpp>

#include "catch.hpp"
#include "shipped_recordings.hpp"

namespace saving_test {

using namespace natten_sim;
using namespace natten_sim::validate;

constexpr double kTiny = 1e-12;

RecordedRow stream_row(std::int64_t mib, KvOrder order) {
  StreamCase point;
  point.buffer_mib = mib;
  point.order = order;
  RecordedRow row;
  row.point = point;
  return row;
}

RecordedRow attention_row(std::int64_t tokens, KvOrder walk,
                          CtaSchedule schedule = CtaSchedule::kPersistent) {
  AttentionCase point;
  point.problem.tokens = tokens;
  point.variant.walk = walk;
  point.variant.schedule = schedule;
  RecordedRow row;
  row.point = point;
  return row;
}

ComparisonRow reads(const RecordedRow& of, double predicted, double measured,
                    const std::string& model = "m") {
  ComparisonRow row;
  row.suite = "s";
  row.point = key_of(of.point);
  row.group = group_of(of.point);
  row.counter = "dram_read_bytes";
  row.model = model;
  row.predicted = predicted;
  row.measured = measured;
  row.spread = 0.01;
  return row;
}

TEST_CASE("a saving is compared as the plain difference of two fractions of the cyclic reads") {
  Recording recording;
  recording.rows = {stream_row(64, KvOrder::kCyclic),
                    stream_row(64, KvOrder::kSawtooth)};
  const std::vector<ComparisonRow> compared = {reads(recording.rows[0], 1000, 800),
                                               reads(recording.rows[1], 600, 600)};
  const auto savings = compare_savings({}, recording, compared);
  REQUIRE(savings.size() == 1);
  CHECK(savings[0].counter == "dram_read_saving");
  CHECK(savings[0].point == "stream 64 MiB x8 all SMs sawtooth full speed against cyclic");
  CHECK(savings[0].group == "stream full speed sawtooth");
  CHECK(std::abs(savings[0].predicted - 0.4) < kTiny);
  CHECK(std::abs(savings[0].measured - 0.25) < kTiny);
  CHECK(std::abs(savings[0].deviation - 0.15) < kTiny);
  CHECK(std::abs(savings[0].spread - 0.75 * 0.02) < kTiny);
}

TEST_CASE("pairs differ in their order alone") {
  Recording recording;
  recording.rows = {attention_row(4096, KvOrder::kCyclic),
                    attention_row(8192, KvOrder::kSawtooth),
                    attention_row(4096, KvOrder::kSawtooth, CtaSchedule::kGrid),
                    attention_row(4096, KvOrder::kDescending)};
  std::vector<ComparisonRow> compared;
  for (const RecordedRow& row : recording.rows) compared.push_back(reads(row, 1, 1));
  CHECK(compare_savings({}, recording, compared).empty());
  recording.rows.push_back(attention_row(4096, KvOrder::kSawtooth));
  compared.push_back(reads(recording.rows.back(), 1, 1));
  CHECK(compare_savings({}, recording, compared).size() == 1);
}

TEST_CASE("a saving needs one model that predicts both") {
  Recording recording;
  recording.rows = {attention_row(4096, KvOrder::kCyclic),
                    attention_row(4096, KvOrder::kSawtooth)};
  const auto& cyclic = recording.rows[0];
  const auto& sawtooth = recording.rows[1];
  CHECK(compare_savings({}, recording, std::vector{reads(cyclic, 2, 2, "a"), reads(sawtooth, 1, 1, "b")})
            .empty());
  const auto both = compare_savings({}, recording,
                                    std::vector{reads(cyclic, 2, 2, "a"), reads(cyclic, 4, 2, "b"),
                                                reads(sawtooth, 1, 1, "b"), reads(sawtooth, 1, 1, "a")});
  REQUIRE(both.size() == 2);
  CHECK(both[0].model == "b");
  CHECK(std::abs(both[0].predicted - 0.75) < kTiny);
  CHECK(std::abs(both[1].predicted - 0.5) < kTiny);
}

TEST_CASE("a saving is judged by its own tolerance, whatever excused its reads") {
  Suite suite;
  suite.tolerances = {{"dram_read_saving", "", "", 0.05}};
  suite.known_misses = {{"dram_read_saving", "", "s8192", 0.2, 1, "because"}};
  Recording recording;
  recording.rows = {attention_row(4096, KvOrder::kCyclic),
                    attention_row(4096, KvOrder::kSawtooth)};
  std::vector<ComparisonRow> compared = {reads(recording.rows[0], 100, 100),
                                         reads(recording.rows[1], 56, 60)};
  compared[1].verdict = Verdict::kKnownMiss;
  compared[1].known_miss = 0;
  compared[1].cause = "another";
  compared[1].tolerance = 0.001;
  const auto within = compare_savings(suite, recording, compared).at(0);
  CHECK(within.verdict == Verdict::kWithin);
  CHECK_FALSE(within.known_miss.has_value());
  CHECK(within.cause.empty());
  CHECK(within.tolerance == 0.05);
  compared[1].predicted = 54;
  CHECK(compare_savings(suite, recording, compared).at(0).verdict == Verdict::kOutside);
}

TEST_CASE("below the capacity both orders save nothing, and that is no deviation") {
  Recording recording;
  recording.rows = {attention_row(4096, KvOrder::kCyclic),
                    attention_row(4096, KvOrder::kSawtooth)};
  const auto savings = compare_savings(
      {}, recording, std::vector{reads(recording.rows[0], 50, 51), reads(recording.rows[1], 50, 51)});
  CHECK(savings.at(0).measured == 0);
  CHECK(savings.at(0).deviation == 0);
  // The stricter reading has nothing to divide by there, so such pairs do not count in it.
  const SavingSummary summary = summarise_savings(savings, "m");
  CHECK(summary.pairs == 1);
  CHECK(summary.within_points == 1);
  CHECK(summary.parted == 0);
}

TEST_CASE("the summary counts both readings of the goal, for one model") {
  std::vector<ComparisonRow> rows(4);
  for (ComparisonRow& row : rows) {
    row.counter = "dram_read_saving";
    row.model = "m";
    row.measured = 0.4;
  }
  rows[0].predicted = 0.41;  // 2.5% of the saving
  rows[1].predicted = 0.44;  // 10% of it, but 4% of the reads
  rows[2].predicted = 0.5;
  rows[3].model = "another";
  for (ComparisonRow& row : rows) row.deviation = row.predicted - row.measured;
  const SavingSummary summary = summarise_savings(rows, "m");
  CHECK(summary.pairs == 3);
  CHECK(summary.within_points == 2);
  CHECK(summary.parted == 3);
  CHECK(summary.within_ratio == 1);
}

TEST_CASE("quantities that can be judged are counters and savings") {
  CHECK(compared_quantity("dram_read_saving") == "dram_read_saving");
  CHECK(compared_quantity("dram_read_bytes") == "dram_read_bytes");
  CHECK_THROWS_AS(compared_quantity("dram_read_savings"), UnknownName);
}

TEST_CASE("every pair of the shipped recordings is compared, and new misses there are none") {
  std::size_t streams = 0, attention = 0;
  for (const Recording& recording : test::shipped_recordings()) {
    for (const RecordedRow& row : recording.rows) {
      const auto* const stream = row.point.as<StreamCase>();
      const bool retention = recording.head.suite.starts_with("retention");  // a sawtooth by itself
      streams += !retention && stream != nullptr && stream->order == KvOrder::kSawtooth ? 1 : 0;
    }
  }
  // No slow suite has orders to compare.
  const Comparison& comparison = test::quick_comparison();
  for (const ComparisonRow& row : comparison.rows) {
    if (row.counter != kSaving) continue;
    INFO(row.point << " saves " << row.measured << ", predicted " << row.predicted);
    if (row.suite != "forward") CHECK(row.verdict != Verdict::kOutside);  // frozen first: a score
    CHECK(row.verdict != Verdict::kNoTolerance);
    attention += row.point.starts_with("attention") ? 1 : 0;
  }
  // Every other stream has both orders.
  CHECK(summarise_savings(comparison.rows, "L2 partitions, readers in step").pairs == streams);
  CHECK(attention >= 80);
}

}  // namespace saving_test

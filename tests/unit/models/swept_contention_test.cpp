#include <cmath>

#include <natten_sim/models/scatter/contention_fit.hpp>
#include <natten_sim/models/scatter/swept_contention.hpp>

#include "catch.hpp"

namespace swept_contention_test {

using namespace natten_sim;

/// Round numbers: 32 warps resident, so 1,024 lanes, and exponents of 1 or 0.
ContentionProfile swept_profile() {
  ContentionProfile profile;
  profile.device = "round";
  profile.sms = 1;
  profile.warps_per_sm = 32;
  profile.slice_sectors_per_ns = 1e9;
  ContentionSweep sweep;
  sweep.construct = "torch-scatter-add";
  SweepConstants& c = sweep.constants;
  c.launch_ns = 100;
  c.issue_red_ns = c.issue_cas_ns = 1;
  c.dram_bytes_per_ns = 1e12;
  c.reuse_bytes = 1e18;  // nothing leaves the L2
  c.sector_ns = 2;
  c.same_sector_ns = 3;
  c.overlap = 1;
  c.cas_sector_ns = 5;
  c.success_ns = 0;
  c.retry_scale = 0.5;
  c.retry_exponent = 1;
  c.gather_updates = 1000;
  c.gather_exponent = 1;
  c.turn_exponent = 0;  // G counts whole
  c.waiting_exponent = 1;  // and rows that gather from any number on
  c.narrow_exponent = c.wide_exponent = c.wide_server_exponent = 0;
  c.change_exponent = 0;
  sweep.range = {8, 4096, 64, 10000000, 1000000};
  sweep.errors = {{ScatterKind::kCollapse, 10, 20, 2.0, 1.2}, {ScatterKind::kStream, 1, 2, 1.5, 1.1}};
  profile.sweep = sweep;
  return profile;
}

/// All updates go to one row.
ScatterLoad one_hot_row(std::int64_t updates, std::int64_t width, Dtype type, InstructionPath path) {
  ScatterLoad load;
  load.updates = load.max_multiplicity = load.serial_multiplicity = updates;
  load.rows_touched = 1;
  load.width = width;
  load.type = type;
  load.path = path;
  return load;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

TEST_CASE("a reduction costs its slice's sectors, whatever the instruction's width, and the stream joins") {
  ScatterLoad load = one_hot_row(1000, 64, Dtype::kFp32, InstructionPath::kRed);
  // 256 bytes: 8 sectors of 2 ns on one slice. 64 elements are 2 warp instructions of 1 ns.
  const ContentionPrediction p = predict_swept(load, swept_profile());
  CHECK(near(p.hottest_address_ns, 1000 * 8 * 2));
  CHECK(near(p.time_ns, 100 + 16000 + 2000));
  CHECK(p.bound == ContentionBound::kHottestAddress);
  CHECK(p.red_sectors == 8000);
  load.vector_width = 4;
  CHECK(near(predict_swept(load, swept_profile()).hottest_address_ns, 16000));
  // 2 KiB spread over four slices: each has a quarter, 16 sectors. One sector: two updates are 3 ns apart.
  CHECK(near(predict_swept(one_hot_row(10, 512, Dtype::kFp32, InstructionPath::kRed), swept_profile())
                 .hottest_address_ns,
             10 * 16 * 2));
  CHECK(near(predict_swept(one_hot_row(10, 8, Dtype::kFp32, InstructionPath::kRed), swept_profile())
                 .hottest_address_ns,
             10 * 3));
}

TEST_CASE("rows that begin within a sector send the sectors that they cut") {
  const auto sectors = [](std::int64_t width) {
    return predict_swept(one_hot_row(1000, width, Dtype::kFp32, InstructionPath::kRed), swept_profile())
        .red_sectors;
  };
  CHECK(sectors(8) == 1000);
  CHECK(sectors(4) == 1000);  // two rows share a sector, each sends it
  // Rows of 40 bytes begin at 0, 8, 16 and 24 of a sector, and every fourth is cut by the end of a warp's 128
  // bytes: 1.25 sectors, and 1.25 pieces that each cover three quarters of a sector more.
  CHECK(sectors(10) == 2188);
}

TEST_CASE("rows that share a slice with the hottest cost their sectors there") {
  ScatterLoad load = one_hot_row(1000, 64, Dtype::kFp32, InstructionPath::kRed);
  load.max_multiplicity = load.serial_multiplicity = 600;
  load.rows_touched = 2;
  load.slice_sectors = 8000.0;  // both rows
  CHECK(near(predict_swept(load, swept_profile()).hottest_address_ns, 8000 * 2));
}

TEST_CASE("failed compare-and-swaps are served one sector at a time") {
  // fp32 by compare-and-swap: one lane a word, eta = 4. 32 elements a row: 32 rows in flight on 1,024 lanes.
  // 3,200 updates are 100 turns: G = 1 - 4 / 200 = 0.98. One row has all: f = 1. n = 32 * 0.98 = 31.36, half
  // of which fail for each success: 15.68 retries of 4 sectors of 5 ns for each update.
  const ScatterLoad load = one_hot_row(3200, 32, Dtype::kFp32, InstructionPath::kCas);
  const ContentionPrediction p = predict_swept(load, swept_profile());
  CHECK(near(p.hottest_address_ns, 3200 * 15.68 * 4 * 5));
  CHECK(near(p.time_ns, 100 + 3200 + 3200 * 15.68 * 4 * 5));
  CHECK(p.collapsed);
  CHECK(p.atom_sectors == std::llround(3200 * 4 * 16.68));
  CHECK(p.cas_retries == std::llround(3200 * 32 * 15.68));
}

TEST_CASE("swaps of a saturated word are served too, though each succeeds at once") {
  ContentionProfile profile = swept_profile();
  profile.sweep->constants.change_exponent = 1;
  profile.sweep->constants.success_ns = 7;
  // Scalars: a word has one lane. A million ones have saturated a bf16 word of 8 bits: no update changes it,
  // none fails, and the million swaps, a sector each, take the slice 5 ns each.
  ScatterLoad load = one_hot_row(1000000, 1, Dtype::kBf16, InstructionPath::kCas);
  load.values = UpdateValues::kConstant;
  load.prior_runs = 1;
  load.slice_sectors = 1e6;
  const ContentionPrediction p = predict_swept(load, profile);
  CHECK(p.changing_share == 0);
  CHECK(p.cas_retries == 0);
  CHECK(near(p.hottest_address_ns, 5e6));
  CHECK(near(p.time_ns, 100 + 5e6));
}

TEST_CASE("a run that ends before all threads had a turn has fewer contenders") {
  // 64 updates are 2 turns of 32 rows: G = 2 / 8.
  const ContentionPrediction p =
      predict_swept(one_hot_row(64, 32, Dtype::kFp32, InstructionPath::kCas), swept_profile());
  CHECK(near(p.hottest_address_ns, 64 * (32 * 0.25 * 0.5) * 4 * 5));
}

TEST_CASE("a row gathers contenders as its updates add up, beginning with its share") {
  ScatterLoad load = one_hot_row(10000, 32, Dtype::kFp32, InstructionPath::kCas);
  load.max_multiplicity = load.serial_multiplicity = 1000;
  load.rows_touched = 100;
  // p = 0.1, m = 1000 of 1000 + gather_updates: f = 0.1 + 0.9 / 2. G = 1 - 4 / 625.
  const double waiting = 32 * (1 - 4 / 625.0) * 0.55;
  const ContentionPrediction p = predict_swept(load, swept_profile());
  CHECK(near(p.hottest_address_ns, 10000 * 0.1 * 0.5 * waiting * 4 * 5));
}

TEST_CASE("several hot rows gather only above a threshold of waiting rows, one row does at once") {
  ContentionProfile profile = swept_profile();
  profile.sweep->constants.threshold_rows = 16;
  profile.sweep->constants.threshold_exponent = 2;
  ScatterLoad load = one_hot_row(10000, 32, Dtype::kFp32, InstructionPath::kCas);
  load.max_multiplicity = load.serial_multiplicity = 2500;
  load.rows_touched = load.hottest_rows = 4;
  // 32 rows in flight: each of four hot rows begins with 8, half of the threshold: a fifth of what would
  // gather does. p = 1/4, m = 2500 of 2500 + 1000: f = 0.25 + 0.75 * 2500/3500 / 5. G = 1 - 4 / 625.
  const double waiting = 32 / 4.0 * (1 - 4 / 625.0) * (0.25 + 0.75 * 2500 / 3500 / 5);
  CHECK(near(predict_swept(load, profile).hottest_address_ns, 10000 * 0.5 * waiting * 4 * 5));
  load.hottest_rows = 1;  // of a skewed distribution: the threshold is not asked
  const double alone = 32 * (1 - 4 / 625.0) * (0.25 + 0.75 * 2500 / 3500);
  CHECK(near(predict_swept(load, profile).hottest_address_ns, 10000 * 0.25 * 0.5 * alone * 4 * 5));
}

TEST_CASE("rows that meet no other do not retry") {
  ScatterLoad load = one_hot_row(64, 32, Dtype::kFp32, InstructionPath::kCas);
  load.max_multiplicity = load.serial_multiplicity = 1;
  load.rows_touched = load.hottest_rows = 64;
  CHECK(predict_swept(load, swept_profile()).cas_retries == 0);
}

TEST_CASE("an operator that is queued behind other work does not wait for the host") {
  ContentionProfile profile = swept_profile();
  profile.sweep->constants.host_launch_ns = 50;
  profile.sweep->constants.cas_launch_ns = 7;
  const ContentionPrediction red =
      predict_swept(one_hot_row(1000, 64, Dtype::kFp32, InstructionPath::kRed), profile);
  CHECK(red.host_launch_ns == 50);
  CHECK(red.launch_ns == 150);
  CHECK(near(red.time_ns, 150 + 16000 + 2000));
  CHECK(predict_swept(one_hot_row(1000, 64, Dtype::kFp32, InstructionPath::kCas), profile).launch_ns == 157);
}

TEST_CASE("operands that lie in the L2 since the run before cost nothing") {
  ContentionProfile profile = swept_profile();
  profile.sweep->constants.warm_share = 0.75;
  profile.sweep->constants.warm_bytes = 1e6;
  ScatterLoad load = one_hot_row(1000, 64, Dtype::kFp32, InstructionPath::kRed);
  load.max_multiplicity = load.serial_multiplicity = 1;
  load.rows_touched = 1000;
  load.streamed_bytes = 1e6;  // as much as stays: 1 - 0.75 / e of the 2,000 warp instructions
  CHECK(near(predict_swept(load, profile).issue_ns, 2000 * (1 - 0.75 / std::exp(1.0))));
  load.streamed_bytes = 1e9;
  CHECK(near(predict_swept(load, profile).issue_ns, 2000));
}

TEST_CASE("without updates only the launch is left") {
  ScatterLoad load;
  CHECK(predict_swept(load, swept_profile()).time_ns == 100);
}

TEST_CASE("a destination that left the L2 is read and written again") {
  ContentionProfile profile = swept_profile();
  profile.sweep->constants.dram_bytes_per_ns = 1;
  profile.sweep->constants.reuse_bytes = 0;
  ScatterLoad load = one_hot_row(1000, 32, Dtype::kFp32, InstructionPath::kRed);
  load.max_multiplicity = load.serial_multiplicity = 1;
  load.rows_touched = load.hottest_rows = 1000;
  load.streamed_bytes = 5000;
  CHECK(near(predict_swept(load, profile).dram_ns, 5000 + 2 * 1000 * 128));
}

TEST_CASE("an answer carries the error of its kind, and says what was not measured") {
  const ContentionProfile profile = swept_profile();
  const ScatterLoad hot = one_hot_row(3200, 32, Dtype::kFp32, InstructionPath::kCas);
  const ContentionPrediction predicted = predict_swept(hot, profile);
  const CalibrationError collapse = calibration_error(profile, hot, predicted);
  CHECK(collapse.kind == ScatterKind::kCollapse);
  CHECK(collapse.unfitted_worst_ratio == 2.0);
  CHECK(collapse.unfitted_points == 20);
  CHECK(collapse.outside.empty());
  REQUIRE(collapse.interval.has_value());
  CHECK(near(collapse.interval->least_ns, predicted.time_ns / 2));
  CHECK(near(collapse.interval->most_ns, predicted.time_ns * 2));
  ScatterLoad wide = one_hot_row(32, 8192, Dtype::kFp32, InstructionPath::kRed);
  wide.issue_ns = 0;
  const CalibrationError reduction = calibration_error(profile, wide, predict_swept(wide, profile));
  CHECK(reduction.kind == ScatterKind::kReduction);
  CHECK_FALSE(reduction.unfitted_worst_ratio.has_value());  // this sweep has no error of that kind
  CHECK(reduction.outside == std::vector<std::string>{"width", "updates"});
  CHECK_FALSE(reduction.interval.has_value());
}

TEST_CASE("rows beyond 1 KiB wait at one slice, or at one for each half KiB, and the interval has both") {
  ContentionProfile profile = swept_profile();
  profile.sweep->constants.wide_server_exponent = 0.5;
  profile.sweep->errors.push_back({ScatterKind::kLongCollapse, 5, 6, 3.0, 1.25});
  // 1,024 fp32 elements: 4 KiB, one row in flight on 1,024 lanes. 3,200 turns: n = 1 - 4 / 6400. 0.5 n
  // retries of 128 sectors of 5 ns at one slice, half of that in the mean of the logarithms of 1 and 1/4.
  const ScatterLoad load = one_hot_row(3200, 1024, Dtype::kFp32, InstructionPath::kCas);
  const double one_slice = 3200 * 0.5 * (1 - 4 / 6400.0) * 128 * 5, stream = 3200 * 32;
  const ContentionPrediction p = predict_swept(load, profile);
  CHECK(near(p.hottest_address_ns, one_slice / 2));
  const CalibrationError error = calibration_error(profile, load, p);
  CHECK(error.kind == ScatterKind::kLongCollapse);
  REQUIRE(error.interval.has_value());
  CHECK(near(error.interval->most_ns, (100 + stream + one_slice) * 1.25));
  CHECK(near(error.interval->least_ns, (100 + stream + one_slice / 8) / 1.25));
}

TEST_CASE("rows beyond 1 KiB fail less often as their exponent says") {
  ContentionProfile profile = swept_profile();
  profile.sweep->constants.wide_exponent = 0.5;
  // 4 KiB as above: 0.5 n retries of 128 sectors of 5 ns, times the root of 1/4.
  const ScatterLoad load = one_hot_row(3200, 1024, Dtype::kFp32, InstructionPath::kCas);
  CHECK(near(predict_swept(load, profile).hottest_address_ns, 3200 * 0.5 * (1 - 4 / 6400.0) * 128 * 5 / 2));
}

TEST_CASE("as much to issue as to move counts as issue") {
  ContentionProfile profile = swept_profile();
  profile.sweep->constants.dram_bytes_per_ns = 1000;
  ScatterLoad load = one_hot_row(1000, 64, Dtype::kFp32, InstructionPath::kRed);
  load.max_multiplicity = load.serial_multiplicity = 1;
  load.rows_touched = 1000;
  load.streamed_bytes = 2e6;  // 2,000 ns, as 2,000 warp instructions
  CHECK(predict_swept(load, profile).bound == ContentionBound::kIssue);
  load.streamed_bytes = 2.001e6;
  CHECK(predict_swept(load, profile).bound == ContentionBound::kDram);
}

TEST_CASE("as many rows as were swept are inside of the sweep") {
  const ContentionProfile profile = swept_profile();
  ScatterLoad load = one_hot_row(2000000, 64, Dtype::kFp32, InstructionPath::kRed);
  load.rows_touched = 1000000;
  CHECK(outside_sweep(load, *profile.sweep).empty());
  ++load.rows_touched;
  CHECK(outside_sweep(load, *profile.sweep) == std::vector<std::string>{"rows"});
}

TEST_CASE("with more rows than were swept the interval has all of them in the L2, or none") {
  ContentionProfile profile = swept_profile();
  SweepConstants& constants = profile.sweep->constants;
  constants.dram_bytes_per_ns = 1;
  constants.reuse_bytes = 0;  // all rows left the L2 between two updates
  profile.sweep->errors.push_back({ScatterKind::kReduction, 1, 2, 1.5, 1.1});
  ScatterLoad load = one_hot_row(2000000, 64, Dtype::kFp32, InstructionPath::kRed);
  load.rows_touched = 1000001;
  load.max_multiplicity = load.serial_multiplicity = 2;
  load.slice_sectors = 1;
  const ContentionPrediction p = predict_swept(load, profile);
  const CalibrationError error = calibration_error(profile, load, p);
  REQUIRE(error.outside == std::vector<std::string>{"rows"});
  REQUIRE(error.interval.has_value());
  // All return here, 256 bytes read and written for each of two million updates.
  CHECK(near(error.interval->most_ns, p.time_ns * 1.5));
  CHECK(near(error.interval->least_ns, (p.time_ns - 2 * 256 * 2e6) / 1.5));
}

TEST_CASE("outside of what was swept the interval reaches from no wait to all in flight at one row") {
  const ContentionProfile profile = swept_profile();
  ScatterLoad load = one_hot_row(3200, 4, Dtype::kFp32, InstructionPath::kCas);
  load.max_multiplicity = load.serial_multiplicity = 320;
  const ContentionPrediction p = predict_swept(load, profile);
  const CalibrationError error = calibration_error(profile, load, p);
  CHECK(error.outside == std::vector<std::string>{"width"});
  REQUIRE(error.interval.has_value());
  // 400 warp instructions of 1 ns. 1,024 lanes hold 256 rows; a tenth of the updates is the hottest row's.
  CHECK(near(error.interval->least_ns, (100 + 400) / 2.0));
  CHECK(near(error.interval->most_ns, (100 + 400 + 0.1 * 0.5 * 256 * 3200 * 5) * 2.0));
  CHECK(error.interval->least_ns < p.time_ns);
  CHECK(p.time_ns < error.interval->most_ns);
  const ScatterLoad swept = one_hot_row(3200, 32, Dtype::kFp32, InstructionPath::kCas);
  const CalibrationError other = calibration_error(profile, swept, predict_swept(swept, profile), true);
  CHECK(other.outside == std::vector<std::string>{"construct"});
}

TEST_CASE("reductions are served while the launch is under way, and a run of little else is bound by it") {
  ContentionProfile profile = swept_profile();
  profile.sweep->constants.hidden_ns = 50;
  profile.sweep->constants.overlap = 2;
  const ScatterLoad load = one_hot_row(10, 64, Dtype::kFp32, InstructionPath::kRed);
  // 10 updates of 8 sectors of 2 ns beside 50 hidden and 20 issued: the norm, less what is hidden.
  const ContentionPrediction p = predict_swept(load, profile);
  CHECK(near(p.time_ns, 100 + std::hypot(160, 50 + 20) - 50));
  CHECK(p.bound == ContentionBound::kHottestAddress);
  profile.sweep->constants.launch_ns = 200;
  CHECK(predict_swept(load, profile).bound == ContentionBound::kLaunch);
}

TEST_CASE(
    "a construct of one's own: reductions as fast as slices take them, loops with more rows in flight") {
  ContentionProfile profile = swept_profile();
  profile.slice_sectors_per_ns = 2;
  ScatterLoad load = one_hot_row(1000, 64, Dtype::kFp32, InstructionPath::kRed);
  load.max_multiplicity = load.serial_multiplicity = 1;
  load.rows_touched = 1000;
  CHECK(
      near(predict_swept(load, profile).time_ns, 100 + 2000 + 16));  // PyTorch's issue, one row at its slice
  load.issue_ns = 0.1;
  const ContentionPrediction own = predict_swept(load, profile);
  CHECK(near(own.time_ns, 100 + 1000 * 8 / 2.0 + 16));
  CHECK(own.bound == ContentionBound::kSliceThroughput);
  profile.sweep->remedies.emplace();
  profile.sweep->remedies->loop_rows = 3;
  ScatterLoad loop = one_hot_row(3200, 32, Dtype::kFp32, InstructionPath::kCas);
  loop.issue_ns = 0.1;
  // 96 rows in flight: n = 96 (1 - 4 / (2 * 3200 / 96)). Its instructions cost what the operator's do.
  const ContentionPrediction looped = predict_swept(loop, profile);
  CHECK(near(looped.hottest_address_ns, 3200 * 0.5 * 96 * (1 - 4 * 96 / 6400.0) * 4 * 5));
  CHECK(near(looped.issue_ns, 3200));
}

TEST_CASE("as much for the slices as to issue counts as issue") {
  ContentionProfile profile = swept_profile();
  ScatterLoad load = one_hot_row(1000, 64, Dtype::kFp32, InstructionPath::kRed);
  load.max_multiplicity = load.serial_multiplicity = 1;
  load.rows_touched = 1000;
  load.issue_ns = 2;  // 2,000 warp instructions take 4,000 ns, and so do 8,000 sectors
  profile.slice_sectors_per_ns = 2;
  CHECK(predict_swept(load, profile).bound == ContentionBound::kIssue);
  profile.slice_sectors_per_ns = 1.99;
  CHECK(predict_swept(load, profile).bound == ContentionBound::kSliceThroughput);
}

}  // namespace swept_contention_test

// The formulas of swept_contention.hpp a second time, plainly, against random loads, devices and constants.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "scatter_formulas.hpp"
#include "random.hpp"

namespace swept_formulas_test {

using namespace natten_sim;
using namespace natten_sim::test;

/// What `predict_swept` promises, in the letters of swept_contention.hpp.
struct Swept {
  double issue_ns, dram_bytes, dram_ns, stream_ns, launch_ns, time_ns, hot_ns, sent;
  double contenders = 0, share = 1, retries = 0;
  bool collapsed = false, several_slices = false;
  double most_hot_ns, server = 1;
};

Swept swept_by_formula(const ScatterLoad& load, const ContentionProfile& profile) {
  const SweepConstants& c = profile.sweep->constants;
  const Sizes size(load);
  const bool cas = load.path == InstructionPath::kCas, own = load.issue_ns.has_value();
  const double element = static_cast<double>(element_bytes(load.type)), row = size.row,
               updates = size.updates;
  const double lanes_a_row = static_cast<double>(load.width) / static_cast<double>(load.vector_width);
  const double max = static_cast<double>(load.max_multiplicity), k = static_cast<double>(load.hottest_rows);
  Swept s;

  // Sectors: pieces that begin at a multiple of g bytes cover 1 - g/32 sectors more than their length, and a
  // warp of so many bytes splits a row into 1 + (row - common divisor) / warp pieces on average.
  const auto row_bytes = static_cast<std::int64_t>(row);
  const auto warp_bytes = static_cast<std::int64_t>(32 * element) * load.vector_width;
  const double pieces =
      1 + (row - static_cast<double>(std::gcd(row_bytes, warp_bytes))) / static_cast<double>(warp_bytes);
  s.sent = row / 32 + pieces * (1 - static_cast<double>(std::gcd(row_bytes, std::int64_t{32})) / 32);
  if (load.sent_sectors) s.sent = *load.sent_sectors / updates;

  // Stream.
  double distinct = static_cast<double>(load.rows_touched);
  if (load.close_updates > 0) distinct = std::min(distinct, 1023 / load.close_updates);
  const double between = distinct * load.streamed_bytes / updates + distinct * row;
  s.dram_bytes = load.streamed_bytes + 2 * row * updates * std::exp(-c.reuse_bytes / between);
  const double e = c.warm_bytes == 0 ? 0 : std::exp(-std::pow(load.streamed_bytes / c.warm_bytes, 2));
  double each = cas ? c.issue_cas_ns : c.issue_red_ns, saved = cas ? c.warm_cas_share : c.warm_share;
  if (own) each = cas ? std::max(each, *load.issue_ns) : *load.issue_ns;
  if ((own && cas) || load.steady_issue) saved = 0;
  s.issue_ns = size.instructions * each * (1 - saved * e);
  s.dram_ns = s.dram_bytes / c.dram_bytes_per_ns * (1 - c.warm_share * e);
  s.stream_ns = std::max(s.issue_ns, s.dram_ns);
  s.several_slices = own && !cas;
  if (s.several_slices) s.stream_ns = std::max(s.stream_ns, updates * s.sent / profile.slice_sectors_per_ns);
  s.stream_ns += c.cold_ns * (1 - e);

  const double m = k == 1 ? static_cast<double>(load.serial_multiplicity) : std::min(max, updates / k);
  const double p = m / updates;
  const double resident =
      load.resident_warps ? *load.resident_warps : profile.warps_per_sm * static_cast<double>(profile.sms);
  double w = resident * 32 / lanes_a_row;
  if (own && profile.sweep->remedies) w *= profile.sweep->remedies->loop_rows;
  s.launch_ns = c.launch_ns + c.host_launch_ns;
  if (!cas) {
    // Of one slice: a sector at a time up to 8, of longer rows half of each KiB's sectors up to 16.
    double on_slice = std::min(size.sectors, 8.0);
    if (row > 512) on_slice = std::min(std::ceil(row / 64), 16.0);
    const double sectors = (load.slice_sectors ? *load.slice_sectors : m * on_slice) * s.sent / size.sectors;
    s.hot_ns = std::max(m * c.same_sector_ns, sectors * c.sector_ns);
    if (!own)
      s.hot_ns +=
          m * p * c.cut_ns *
          (1 - static_cast<double>(std::gcd(row_bytes, warp_bytes)) / static_cast<double>(warp_bytes));
    // A pair of which one element is zero covers its neighbour's word.
    s.hot_ns *= size.lanes;
    s.time_ns = s.launch_ns - c.hidden_ns +
                std::pow(std::pow(s.stream_ns + c.hidden_ns, c.overlap) + std::pow(s.hot_ns, c.overlap),
                         1 / c.overlap);
    s.most_hot_ns = size.lanes * std::max(m * c.same_sector_ns, m * size.sectors * c.sector_ns);
    return s;
  }
  s.launch_ns += c.cas_launch_ns;
  const double g = c.gather_updates * std::pow(256 / lanes_a_row, c.gather_width_exponent) *
                   std::pow(k, c.gather_rows_exponent);
  double f = std::pow(m / (m + g), c.gather_exponent);
  f /= 1 + std::pow((k == 1 ? c.waiting_single : c.waiting_several) / (w * p), c.waiting_exponent);
  if (k > 1) f /= 1 + std::pow(c.threshold_rows / (w * p), c.threshold_exponent);
  f = p + (1 - p) * f;
  const double eta = 4 * size.lanes, x = updates / w;
  const double end = x < eta ? x / (2 * eta) : 1 - eta / (2 * x);
  const double waiting = w / k * std::pow(end, std::pow(f, c.turn_exponent)) * f;
  s.share = size.share;
  const double hot = std::min(k * p, 1.0);
  const double change =
      c.change_exponent * (lanes_a_row >= 256 ? 1 : std::pow(256 / lanes_a_row, c.change_narrow_exponent));
  if (m > 1) {
    s.retries = hot * c.retry_scale * std::pow(waiting, c.retry_exponent) * std::pow(s.share, change);
    if (lanes_a_row < 32) s.retries *= std::pow(lanes_a_row / 32, c.narrow_exponent);
    if (row > 1024) s.retries *= std::pow(1024 / row, c.wide_exponent);
  }
  if (row > 1024) s.server = std::pow(1024 / row, c.wide_server_exponent);
  const bool power_of_two = std::exp2(std::round(std::log2(row))) == row;
  if (load.rows_touched == 1 && (row > 2048 || !power_of_two)) {
    const double faster = row > c.sole_bytes ? std::pow(row / c.sole_bytes, c.sole_exponent) : 1;
    s.server = std::min(s.server, 1 / std::min(faster, 1 / c.sole_server_share));
  }
  const double sectors = updates * size.sectors * size.lanes;
  const double failing = sectors * s.retries * c.cas_sector_ns * s.server;
  const double one_by_one = m * size.lanes * c.success_ns * s.share;
  // Every swap of both lanes that comes to the slice is served, whatever it finds.
  const double served = load.slice_sectors.value_or(0) * size.lanes * c.cas_sector_ns;
  s.hot_ns = std::max({failing, one_by_one, served});
  s.time_ns = s.launch_ns + std::max({s.stream_ns + failing, one_by_one, served});
  s.collapsed = failing > s.stream_ns;
  s.contenders = std::max(waiting, 1.0) * size.requests;
  const double at_most = hot * c.retry_scale * std::pow(std::max(w / k, 1.0), c.retry_exponent);
  s.most_hot_ns = m > 1 ? std::max(sectors * at_most * c.cas_sector_ns, m * size.lanes * c.success_ns) : 0;
  return s;
}

TEST_CASE(
    "a prediction for a device that was swept is that of its formulas, with the interval of its error") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  std::map<ContentionBound, int> bounds;
  std::map<ScatterKind, int> kinds;
  for (int n = 0; n < kCases; ++n) {
    CAPTURE(n);
    const ScatterLoad load = random_load(random);
    ContentionProfile profile = random_profile(random);
    ContentionSweep& sweep = profile.sweep.emplace();
    sweep.constants = random_constants(random);
    sweep.range = {0, 1 << 20, 0, 1 << 30, 1 << 30};
    if (random.coin()) sweep.remedies.emplace().loop_rows = random.real(1, 5);
    const Swept s = swept_by_formula(load, profile);
    const Sizes size(load);
    const ContentionPrediction p = predict_contention(load, profile);
    REQUIRE(same(p.launch_ns, s.launch_ns));
    REQUIRE(p.host_launch_ns == sweep.constants.host_launch_ns);
    REQUIRE(same(p.issue_ns, s.issue_ns));
    REQUIRE(same(p.dram_bytes, s.dram_bytes));
    REQUIRE(same(p.dram_ns, s.dram_ns));
    REQUIRE(same(p.hottest_address_ns, s.hot_ns));
    REQUIRE(same(p.time_ns, s.time_ns));
    REQUIRE(same(p.service_ns_per_update, s.hot_ns / static_cast<double>(load.serial_multiplicity)));
    REQUIRE(p.collapsed == s.collapsed);
    REQUIRE(same(p.contenders, s.contenders));
    REQUIRE(same(p.changing_share, s.share));
    REQUIRE(same_count(p.words, static_cast<double>(load.rows_touched) * size.words));
    REQUIRE(same_count(p.cas_retries, size.updates * size.words * size.lanes * s.retries));
    const double sectors = load.path == InstructionPath::kCas
                               ? size.updates * size.lanes * (s.sent + size.sectors * s.retries)
                               : size.updates * s.sent;
    REQUIRE(same_count(load.path == InstructionPath::kRed ? p.red_sectors : p.atom_sectors, sectors));
    REQUIRE((load.path == InstructionPath::kRed ? p.atom_sectors : p.red_sectors) == 0);
    REQUIRE(same(p.slice_throughput_ns,
                 static_cast<double>(p.red_sectors + p.atom_sectors) / profile.slice_sectors_per_ns));
    ContentionBound bound = s.dram_ns > s.issue_ns ? ContentionBound::kDram : ContentionBound::kIssue;
    if (s.several_slices && p.slice_throughput_ns > std::max(s.issue_ns, s.dram_ns))
      bound = ContentionBound::kSliceThroughput;
    if (s.hot_ns > s.stream_ns) bound = ContentionBound::kHottestAddress;
    if (std::max(s.hot_ns, s.stream_ns) < s.launch_ns - sweep.constants.host_launch_ns)
      bound = ContentionBound::kLaunch;
    REQUIRE(p.bound == bound);
    ++bounds[bound];

    ScatterKind kind = ScatterKind::kStream;
    if (bound == ContentionBound::kHottestAddress) {
      kind = load.path != InstructionPath::kCas ? ScatterKind::kReduction
             : size.row > 1024                  ? ScatterKind::kLongCollapse
                                                : ScatterKind::kCollapse;
    }
    REQUIRE(kind_of(load, p) == kind);
    ++kinds[kind];
    const double worst = random.real(1, 4), mean = random.real(1, 2);
    CalibrationError error{.kind = kind,
                           .outside = {},
                           .unfitted_worst_ratio = worst,
                           .unfitted_mean_ratio = mean,
                           .interval = {}};
    double least = s.time_ns / worst, most = s.time_ns * worst;
    if (random.coin()) {
      error.outside = {"width"};
      // None waits for another, or all in flight for the hottest.
      const double alone = s.launch_ns + s.stream_ns;
      least = alone / worst;
      most = std::max(alone + s.most_hot_ns, s.time_ns) * worst;
    } else if (kind == ScatterKind::kLongCollapse) {
      // All at one slice, or each half KiB at one of its own.
      const double rest = s.time_ns - s.hot_ns, one_slice = s.hot_ns / s.server;
      least = (rest + one_slice * 512 / size.row) / mean;
      most = (rest + one_slice) * mean;
    }
    const std::optional<TimeInterval> interval = swept_interval(load, profile, p, error);
    REQUIRE(interval.has_value());
    REQUIRE(same(interval->least_ns, least));
    REQUIRE(same(interval->most_ns, most));
    error.unfitted_worst_ratio.reset();
    REQUIRE_FALSE(swept_interval(load, profile, p, error).has_value());
  }
  CHECK(bounds.size() == 5);
  CHECK(kinds.size() == 4);
}

TEST_CASE("a load of no updates has no interval, and words of its rows") {
  ContentionProfile profile;
  profile.sweep.emplace().constants.launch_ns = 3;
  CalibrationError error;
  error.unfitted_worst_ratio = 2;
  CHECK_FALSE(swept_interval({}, profile, {}, error).has_value());
  CHECK(predict_swept({}, profile).words == 0);
  ScatterLoad cas;
  cas.type = Dtype::kBf16;
  cas.path = InstructionPath::kCas;
  CHECK_FALSE(predict_swept(cas, profile).collapsed);
}

TEST_CASE("ends of a sweep are inside of it, and what lies beyond is named") {
  ContentionSweep sweep;
  sweep.range = {8, 64, 100, 1000, 50};
  const auto outside = [&](std::int64_t width, std::int64_t updates, std::int64_t rows) {
    ScatterLoad load;
    load.width = width;
    load.updates = updates;
    load.rows_touched = rows;
    return outside_sweep(load, sweep);
  };
  CHECK(outside(8, 100, 0).empty());
  CHECK(outside(64, 1000, 50).empty());
  CHECK(outside(7, 100, 1) == std::vector<std::string>{"width"});
  CHECK(outside(65, 100, 1) == std::vector<std::string>{"width"});
  CHECK(outside(8, 99, 1) == std::vector<std::string>{"updates"});
  CHECK(outside(8, 1001, 1) == std::vector<std::string>{"updates"});
  CHECK(outside(7, 99, 51) == std::vector<std::string>{"width", "updates", "rows"});
}

}  // namespace swept_formulas_test

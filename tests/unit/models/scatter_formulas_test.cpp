// The formulas of contention.hpp, swept_contention.hpp and remedies.hpp a second time, plainly, against
// random loads, devices and constants.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/models/scatter/contention_fit.hpp>
#include <natten_sim/models/scatter/remedies.hpp>
#include <natten_sim/models/scatter/swept_contention.hpp>

#include "catch.hpp"
#include "random_values.hpp"
#include "seed.hpp"

namespace {

using namespace natten_sim;
using test::RandomValues;

constexpr int kCases = 4000;

/// But for rounding, of counts too.
bool same(double a, double b) {  // what the L2 keeps may leave a number that has hardly any digits
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-250;
}
bool same_count(std::int64_t a, double b) {
  return std::abs(static_cast<double>(a) - b) <= 0.51 + 1e-9 * std::abs(b);
}

double up(double value) { return std::ceil(value - 1e-9); }  // of quotients of integers

ScatterLoad random_load(RandomValues& random) {
  ScatterLoad load;
  load.updates =
      random.of<std::int64_t>({random.whole(1, 40), random.whole(1, 3000), random.whole(1, 3000000)});
  load.rows_touched = random.of<std::int64_t>({1, random.whole(1, std::min<std::int64_t>(load.updates, 8)),
                                               random.whole(1, load.updates), load.updates});
  load.max_multiplicity =
      random.of<std::int64_t>({1, load.updates, random.whole(1, load.updates),
                               random.whole(1, std::min<std::int64_t>(load.updates, 100))});
  load.serial_multiplicity =
      random.of<std::int64_t>({load.max_multiplicity, random.whole(load.max_multiplicity, load.updates)});
  load.hottest_rows =
      random.of<std::int64_t>({1, 1, random.whole(1, std::min<std::int64_t>(load.rows_touched, 6)),
                               random.whole(1, load.rows_touched)});
  load.close_updates = random.of({0.0, random.real(0, 1), random.real(0, 1023)});
  if (random.coin()) load.slice_sectors = random.real(0, 1e5);
  if (random.coin()) load.sent_sectors = random.real(1, 8) * static_cast<double>(load.updates);
  load.width = random.of<std::int64_t>(
      {1, 2, 3, 4, 7, 8, 10, 12, 16, 24, 32, 64, 100, 128, 256, 320, 512, 1024, 4096});
  load.type = random.of({Dtype::kFp32, Dtype::kFp16, Dtype::kBf16});
  load.path = random.of(
      {InstructionPath::kRed, InstructionPath::kAtom, InstructionPath::kCas, InstructionPath::kCas});
  load.vector_width = random.of<std::int64_t>({1, 1, 2, 4, 8});
  load.values = random.of({UpdateValues::kNormal, UpdateValues::kNormal, UpdateValues::kConstant});
  load.prior_runs = random.of<std::int64_t>({0, random.whole(1, 20)});
  load.streamed_bytes = random.of({0.0, random.real(0, 1e8)});
  if (random.coin()) load.warps_in_flight = random.real(0, 4000);
  if (random.coin()) load.resident_warps = random.real(1, 8000);
  if (random.coin()) load.issue_ns = random.of({0.0, random.real(0, 3)});
  return load;
}

ContentionProfile random_profile(RandomValues& random) {
  ContentionProfile profile;
  profile.device = "random";
  profile.sms = random.whole(1, 150);
  profile.dram_bytes_per_ns = random.real(1, 4000);
  profile.l2_bytes = random.of({random.real(0, 1e5), random.real(0, 5e7), 1e12});
  profile.warps_per_sm = static_cast<double>(random.whole(1, 64));
  profile.round_trip_ns = random.real(1, 700);
  profile.launch_ns = random.real(0, 5000);
  profile.issue_red_ns = random.real(0, 2);
  profile.issue_cas_ns = random.real(0, 4);
  profile.red_service_ns = random.real(0, 5);
  profile.cas_service_ns = random.real(0.01, 10);
  profile.warps_in_flight = random.real(0.1, 64);
  profile.slice_sectors_per_ns = random.real(0.05, 50);
  return profile;
}

/// What both models count of a load.
struct Sizes {
  double updates, row, sectors, words, lanes, instructions, requests, share;

  explicit Sizes(const ScatterLoad& load) {
    const double element = static_cast<double>(element_bytes(load.type)),
                 width = static_cast<double>(load.width);
    const double vector = static_cast<double>(load.vector_width);
    updates = static_cast<double>(load.updates);
    row = width * element;
    sectors = up(row / 32);
    words = up(row / 4);
    lanes = element == 2 && vector == 1 && width > 1 ? 2 : 1;
    instructions = up(updates * width / vector / 32);
    requests = up(std::min(row, 128.0) / (32 * vector * element));
    share = load.path == InstructionPath::kCas
                ? changing_share(load.type, load.values, load.prior_runs * load.max_multiplicity,
                                 load.max_multiplicity)
                : 1;
  }
};

/// Of a device that was not swept.
ContentionPrediction contention_by_formula(const ScatterLoad& load, const ContentionProfile& profile) {
  const Sizes size(load);
  const bool cas = load.path == InstructionPath::kCas;
  const double rows = static_cast<double>(load.rows_touched),
               hottest = static_cast<double>(load.hottest_rows);
  const double serial = static_cast<double>(load.serial_multiplicity), sms = static_cast<double>(profile.sms);
  const double in_flight = load.warps_in_flight ? *load.warps_in_flight : profile.warps_in_flight * sms;
  const double resident = load.resident_warps ? *load.resident_warps : profile.warps_per_sm * sms;
  const double rows_in_flight =
      in_flight * 32 * static_cast<double>(load.vector_width) / static_cast<double>(load.width);
  const double chance = cas ? size.share * load.close_updates / 1024 * rows_in_flight : 0;

  ContentionPrediction p;
  p.launch_ns = profile.launch_ns;
  // Two lanes of a word: one fails and tries again, half a sector more.
  p.slice_throughput_ns =
      size.updates * size.sectors * (cas && size.lanes == 2 ? 3 : 1) / profile.slice_sectors_per_ns;
  const double destination = rows * size.sectors * 32;
  double moved = destination;
  if (destination > profile.l2_bytes) {
    const double misses = size.updates * (1 - profile.l2_bytes / destination);
    moved = 2 * std::max(destination, misses * size.sectors * 32);
  }
  p.dram_bytes = load.streamed_bytes + moved;
  p.dram_ns = p.dram_bytes / profile.dram_bytes_per_ns;
  const auto issue = [&](double retries) {
    double each = load.issue_ns ? *load.issue_ns : cas ? profile.issue_cas_ns : profile.issue_red_ns;
    if (cas) {
      const double trips = 1 + size.lanes + size.lanes * retries;
      each = std::max(each, trips * (profile.round_trip_ns + profile.cas_service_ns) / resident);
    } else if (load.path == InstructionPath::kAtom) {
      each = std::max(each, (profile.round_trip_ns + profile.red_service_ns) / resident);
    }
    return size.instructions * each;
  };
  const auto stream = [&](double issue_ns) { return std::max({issue_ns, p.slice_throughput_ns, p.dram_ns}); };

  p.contenders = p.changing_share = 1;
  p.hottest_address_ns = serial * profile.red_service_ns;
  const double q = size.requests;
  if (cas) {
    p.changing_share = size.share;
    p.contenders = q;
    const double successes = serial * size.lanes;
    p.hottest_address_ns =
        std::max(successes * size.share * profile.round_trip_ns, successes * q * profile.cas_service_ns);
    const double w = std::min(in_flight, size.instructions) * std::min(128 / size.row, 1.0) / q;
    const double queue = w / hottest * (std::log(hottest) + 0.5772 + 0.4228 / hottest);  // H_K, but for 0.02
    // The longest queue is served more slowly than updates come to it.
    const bool grows = queue * q * profile.cas_service_ns > profile.round_trip_ns * (1 + (hottest - 1) / w);
    p.collapsed = p.hottest_address_ns > stream(issue(0)) && w > 0 && grows;
    if (p.collapsed) {
      const double eta = hottest == 1 ? 1 : 2.8;
      const double mean = serial < eta * w ? serial / (2 * eta) : w - eta * w * w / (2 * serial);
      const double n = q * std::max(mean, 1.0);
      p.contenders = n;
      p.hottest_address_ns =
          std::max(p.hottest_address_ns, successes * (q + size.share * (n - q)) * profile.cas_service_ns);
    }
  }
  p.issue_ns = issue(p.collapsed ? 0 : chance);
  p.service_ns_per_update = p.hottest_address_ns / serial;
  const double longest = stream(p.issue_ns);
  p.time_ns = profile.launch_ns + std::max(longest, p.hottest_address_ns);
  p.bound = p.hottest_address_ns > longest     ? ContentionBound::kHottestAddress
            : p.issue_ns == longest            ? ContentionBound::kIssue
            : p.slice_throughput_ns == longest ? ContentionBound::kSliceThroughput
                                               : ContentionBound::kDram;
  return p;
}

/// Failures over all words and lanes, and the sectors that they and the successes send.
struct Sent {
  double retries = 0, sectors = 0;
};
Sent sent_by_formula(const ScatterLoad& load, const ContentionPrediction& p,
                     const ContentionProfile& profile) {
  const Sizes size(load);
  if (load.path != InstructionPath::kCas) return {0, size.updates * size.sectors};
  const double in_flight = load.warps_in_flight ? *load.warps_in_flight
                                                : profile.warps_in_flight * static_cast<double>(profile.sms);
  const double rows_in_flight =
      in_flight * 32 * static_cast<double>(load.vector_width) / static_cast<double>(load.width);
  // By chance those that are close; once collapsed all other rows that wait, for each success of the hottest.
  const double failures =
      p.collapsed ? static_cast<double>(load.serial_multiplicity) * (p.contenders / size.requests - 1)
                  : size.updates * load.close_updates / 1024 * rows_in_flight;
  const double retries = failures * size.share * size.words * size.lanes;
  return {retries, size.updates * size.sectors * size.lanes + retries * size.sectors / size.words};
}

TEST_CASE("a prediction for a device that was not swept is that of its formulas, bound by bound") {
  const std::uint64_t seed = test::random_seed();
  WARN("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  int collapsed = 0;
  std::map<ContentionBound, int> bounds;
  for (int n = 0; n < kCases; ++n) {
    CAPTURE(n);
    const ScatterLoad load = random_load(random);
    const ContentionProfile profile = random_profile(random);
    const ContentionPrediction p = predict_contention(load, profile);
    const ContentionPrediction expected = contention_by_formula(load, profile);
    const Sizes size(load);
    REQUIRE(same(p.launch_ns, expected.launch_ns));
    REQUIRE(same(p.issue_ns, expected.issue_ns));
    REQUIRE(same(p.slice_throughput_ns, expected.slice_throughput_ns));
    REQUIRE(same(p.dram_bytes, expected.dram_bytes));
    REQUIRE(same(p.dram_ns, expected.dram_ns));
    REQUIRE(p.collapsed == expected.collapsed);
    REQUIRE(same(p.contenders, expected.contenders));
    REQUIRE(same(p.changing_share, expected.changing_share));
    REQUIRE(same(p.hottest_address_ns, expected.hottest_address_ns));
    REQUIRE(same(p.service_ns_per_update, expected.service_ns_per_update));
    REQUIRE(same(p.time_ns, expected.time_ns));
    REQUIRE(p.bound == expected.bound);
    REQUIRE(p.host_launch_ns == 0);
    REQUIRE(same_count(p.words, static_cast<double>(load.rows_touched) * size.words));
    const Sent sent = sent_by_formula(load, p, profile);
    REQUIRE(same_count(p.cas_retries, sent.retries));
    REQUIRE(same_count(load.path == InstructionPath::kRed ? p.red_sectors : p.atom_sectors, sent.sectors));
    REQUIRE((load.path == InstructionPath::kRed ? p.atom_sectors : p.red_sectors) == 0);
    collapsed += p.collapsed;
    ++bounds[p.bound];
  }
  CHECK(collapsed > kCases / 50);
  CHECK(bounds.size() == 4);
}

SweepConstants random_constants(RandomValues& random) {
  SweepConstants c;
  c.launch_ns = random.real(0, 3000);
  c.cas_launch_ns = random.real(0, 1000);
  c.host_launch_ns = random.real(0, 3000);
  c.issue_red_ns = random.real(0, 2);
  c.issue_cas_ns = random.real(0, 3);
  c.dram_bytes_per_ns = random.real(1, 4000);
  c.reuse_bytes = random.of({random.real(0, 1e5), random.real(0, 1e8)});
  c.warm_share = random.real(0, 1);
  c.warm_bytes = random.of({0.0, random.real(1, 1e8)});
  c.warm_cas_share = random.real(0, 1);
  c.cold_ns = random.real(0, 500);
  c.hidden_ns = random.real(0, 2000);
  c.sector_ns = random.real(0, 1);
  c.same_sector_ns = random.real(0, 5);
  c.overlap = random.real(1, 4);
  c.cas_sector_ns = random.real(0, 1);
  c.success_ns = random.real(0, 20);
  c.retry_scale = random.real(0, 2);
  c.retry_exponent = random.real(0.2, 1.5);
  c.gather_updates = random.real(1, 1000);
  c.gather_exponent = random.real(0.2, 2);
  c.gather_width_exponent = random.real(-1, 1);
  c.gather_rows_exponent = random.real(-1, 1);
  c.waiting_single = random.real(0.01, 100);
  c.waiting_several = random.real(0.01, 100);
  c.waiting_exponent = random.real(0.2, 2);
  c.threshold_rows = random.real(0.01, 100);
  c.threshold_exponent = random.real(0.5, 4);
  c.turn_exponent = random.real(0, 2);
  c.narrow_exponent = random.real(0, 2);
  c.wide_exponent = random.real(0, 2);
  c.wide_server_exponent = random.real(0, 1);
  c.change_exponent = random.real(0, 2);
  c.change_narrow_exponent = random.real(0, 1);
  return c;
}

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
  if (own && cas) saved = 0;
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
    s.time_ns = s.launch_ns - c.hidden_ns +
                std::pow(std::pow(s.stream_ns + c.hidden_ns, c.overlap) + std::pow(s.hot_ns, c.overlap),
                         1 / c.overlap);
    s.most_hot_ns = std::max(m * c.same_sector_ns, m * size.sectors * c.sector_ns);
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
  const double sectors = updates * size.sectors * size.lanes;
  const double failing = sectors * s.retries * c.cas_sector_ns * s.server;
  const double one_by_one = m * size.lanes * c.success_ns * s.share;
  s.hot_ns = std::max(failing, one_by_one);
  s.time_ns = s.launch_ns + std::max(s.stream_ns + failing, one_by_one);
  s.collapsed = failing > s.stream_ns;
  s.contenders = std::max(waiting, 1.0) * size.requests;
  const double at_most = hot * c.retry_scale * std::pow(std::max(w / k, 1.0), c.retry_exponent);
  s.most_hot_ns = m > 1 ? std::max(sectors * at_most * c.cas_sector_ns, m * size.lanes * c.success_ns) : 0;
  return s;
}

TEST_CASE(
    "a prediction for a device that was swept is that of its formulas, with the interval of its error") {
  const std::uint64_t seed = test::random_seed();
  WARN("NATTEN_SIM_SEED=" << seed);
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

/// Each remedy as the header says: the load that it leaves, and what it adds.
struct Expected {
  ScatterLoad load;
  double extra_ns = 0, extra_bytes = 0;
};

std::int64_t groups_with_row(std::int64_t multiplicity, std::int64_t updates, double group) {
  const double groups = std::max(static_cast<double>(updates) / group, 1.0);
  const double none = std::pow(1 - static_cast<double>(multiplicity) / static_cast<double>(updates), group);
  return std::max<std::int64_t>(std::min<std::int64_t>(std::llround(groups - groups * none), multiplicity),
                                1);
}

std::int64_t divided_up(std::int64_t value, std::int64_t by) { return value / by + (value % by > 0); }

std::map<std::string, Expected> remedies_by_hand(ScatterLoad load, std::int64_t table_rows,
                                                 const ContentionProfile& profile,
                                                 const std::vector<Lowering>& table,
                                                 const PreReductionCosts& costs) {
  const RemedyCosts* own = profile.sweep && profile.sweep->remedies ? &*profile.sweep->remedies : nullptr;
  const double elements = static_cast<double>(table_rows * load.width),
               element = static_cast<double>(element_bytes(load.type));
  const double updated = static_cast<double>(load.updates * load.width);
  std::map<std::string, Expected> all;
  all["as-is"] = {load};
  ScatterLoad plain = load;
  plain.slice_sectors.reset();
  plain.sent_sectors.reset();
  const double narrow_rate = own ? own->half_bytes_per_ns : profile.dram_bytes_per_ns;
  const double launch = own ? own->launch_ns : profile.launch_ns;
  if (load.type != Dtype::kFp32) {
    ScatterLoad wide = plain;
    wide.type = Dtype::kFp32;
    wide.path = InstructionPath::kRed;
    wide.vector_width = 1;
    all["fp32-accumulator"] = {wide, 12 * elements / narrow_rate + 2 * launch, 4 * elements};
  }
  for (const Lowering& row : table) {
    if (row.architecture != "here" || row.type != load.type || load.width % row.vector_width != 0) continue;
    const std::map<std::string, std::string> names = {
        {"ptx-red-relaxed-v4-f32", "vector"},      {"ptx-red-relaxed-v8-f16", "vector"},
        {"ptx-red-relaxed-v8-bf16", "vector"},     {"ptx-red-relaxed-f16x2", "packed-x2"},
        {"cuda-atomicadd-bfloat162", "packed-x2"}, {"triton-atomic-relaxed", "relaxed-ordering"}};
    if (!names.contains(row.construct)) continue;
    ScatterLoad changed = load;
    changed.path = row.path;
    changed.vector_width = row.vector_width;
    all[names.at(row.construct)] = {changed};
  }
  for (const auto& [name, group, ns] : {std::tuple{"warp-pre-reduction", 32.0, costs.warp_ns},
                                        std::tuple{"block-pre-reduction", 256.0, costs.block_ns}}) {
    ScatterLoad fewer = plain;
    fewer.max_multiplicity = groups_with_row(load.max_multiplicity, load.updates, group);
    fewer.serial_multiplicity =
        std::max(fewer.max_multiplicity, groups_with_row(load.serial_multiplicity, load.updates, group));
    fewer.close_updates = std::min(load.close_updates, 1024 / group - 1);
    all[name] = {fewer, updated * ns};
  }
  ScatterLoad sorted = plain;
  sorted.updates = sorted.hottest_rows = load.rows_touched;
  sorted.max_multiplicity = sorted.serial_multiplicity = 1;
  sorted.close_updates = 0;
  all["sort-pre-reduction"] = {sorted, updated * costs.sort_ns,
                               static_cast<double>(load.updates) * 16 + updated * element};

  // 512 elements a CTA, whose number modulo eight is its copy's.
  const std::int64_t lanes = divided_up(load.width, load.vector_width);
  std::int64_t copies = 8;
  if (load.turn_rows > 0 && (512 % lanes == 0 || lanes % 512 == 0)) {
    const std::int64_t round = std::max<std::int64_t>(4096 / lanes, 1);
    copies = std::min<std::int64_t>(std::max<std::int64_t>(round / std::gcd(round, load.turn_rows), 1), 8);
  }
  ScatterLoad apart = plain;
  apart.prior_runs = 0;
  apart.rows_touched = std::min(load.updates, load.rows_touched * copies);
  apart.max_multiplicity = divided_up(load.max_multiplicity, copies);
  apart.serial_multiplicity = std::max(apart.max_multiplicity, divided_up(load.serial_multiplicity, copies));
  apart.hottest_rows = std::min(load.hottest_rows * copies, apart.rows_touched);
  apart.close_updates = load.close_updates / static_cast<double>(copies);
  const double rate = own && load.type == Dtype::kFp32 ? own->fp32_bytes_per_ns : narrow_rate;
  all["private-copies-8"] = {apart, 18 * elements * element / rate + 2 * launch, 8 * elements * element};
  return all;
}

TEST_CASE("remedies cost what their changed loads and their own work cost, fastest first") {
  const std::uint64_t seed = test::random_seed();
  WARN("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  for (int n = 0; n < kCases / 4; ++n) {
    CAPTURE(n);
    ScatterLoad load = random_load(random);
    load.turn_rows = random.of<std::int64_t>({0, random.whole(1, 64), 2, 4, 8, 16, 64, 1024});
    ContentionProfile profile = random_profile(random);
    const bool swept = random.coin(), own = swept && random.coin();
    if (swept) {
      profile.sweep.emplace().constants = random_constants(random);
      profile.sweep->constants.waiting_single = profile.sweep->constants.waiting_several = 1;
    }
    if (own) {
      RemedyCosts& costs = profile.sweep->remedies.emplace();
      costs.launch_ns = random.real(0, 3000);
      costs.half_bytes_per_ns = random.real(1, 4000);
      costs.fp32_bytes_per_ns = random.real(1, 4000);
      costs.sort_ns = random.real(0, 1000);
      costs.sort_update_ns = random.real(0, 1);
      costs.sum_ns = random.real(0, 1);
      costs.write_ns = random.real(0, 1);
      costs.join_ns = random.real(0, 500);
      costs.loop_rows = random.real(1, 5);
    }
    std::vector<Lowering> table;
    for (const char* construct :
         {"ptx-red-relaxed-v4-f32", "ptx-red-relaxed-v8-f16", "ptx-red-relaxed-v8-bf16",
          "ptx-red-relaxed-f16x2", "cuda-atomicadd-bfloat162", "triton-atomic-relaxed"}) {
      for (const char* architecture : {"there", "here"}) {
        for (const Dtype type : {Dtype::kFp32, Dtype::kFp16, Dtype::kBf16}) {
          if (random.whole(0, 4) == 0) continue;
          Lowering row;
          row.construct = construct;
          row.architecture = architecture;
          row.type = type;
          row.path = random.of({InstructionPath::kRed, InstructionPath::kAtom, InstructionPath::kCas});
          row.vector_width = random.of<std::int64_t>({1, 2, 4, 8});
          table.push_back(row);
        }
      }
    }
    // Of a type only its own forms are asked for.
    const auto of_other_type = [&](const Lowering& row) {
      const std::string name = row.construct;
      if (name == "triton-atomic-relaxed") return false;
      const Dtype type = name.ends_with("v4-f32")                             ? Dtype::kFp32
                         : name.ends_with("bf16") || name.starts_with("cuda") ? Dtype::kBf16
                                                                              : Dtype::kFp16;
      return type != load.type;
    };
    std::vector<Lowering> asked;
    for (const Lowering& row : table) {
      if (!of_other_type(row)) asked.push_back(row);
    }
    const PreReductionCosts costs{"", random.real(0, 0.1), random.real(0, 0.1), random.real(0, 0.1)};
    const std::int64_t table_rows = load.rows_touched + random.whole(0, 1000);
    const auto remedies = compare_remedies(load, table_rows, profile, table, "here", costs);
    const auto expected = remedies_by_hand(load, table_rows, profile, asked, costs);
    REQUIRE(remedies.size() == expected.size());
    for (std::size_t i = 0; i < remedies.size(); ++i) {
      const Remedy& remedy = remedies[i];
      CAPTURE(remedy.name);
      REQUIRE(expected.contains(remedy.name));
      const Expected& one = expected.at(remedy.name);
      if (i > 0) REQUIRE(remedies[i - 1].time_ns <= remedy.time_ns);
      REQUIRE(same(static_cast<double>(remedy.extra_bytes), one.extra_bytes));
      double time_ns = 0;
      ContentionBound bound = ContentionBound::kIssue;
      if (remedy.name == "sort-pre-reduction" && own) {
        const RemedyCosts& c = *profile.sweep->remedies;
        const double pieces = static_cast<double>(load.width) / 32;
        const double blocks = static_cast<double>(load.max_multiplicity) / 64;
        const double sort_ns = c.sort_ns + static_cast<double>(load.updates) * c.sort_update_ns +
                               static_cast<double>(load.updates) * pieces * c.sum_ns +
                               static_cast<double>(load.rows_touched) * pieces * c.write_ns +
                               (blocks > 1 ? (blocks - 1) * c.join_ns : 0);
        time_ns = sort_ns + profile.sweep->constants.host_launch_ns;
        if (2 * blocks * c.join_ns > sort_ns) bound = ContentionBound::kHottestAddress;
      } else {
        const ContentionPrediction p = predict_contention(one.load, profile);
        time_ns = p.time_ns + one.extra_ns;
        bound = p.bound;
      }
      REQUIRE(same(remedy.time_ns, time_ns));
      REQUIRE(remedy.bound == bound);
    }
  }
}

TEST_CASE("the share of additions that change a word is that of each binade of the sum") {
  const auto beyond = [](double x) { return std::erfc(x / std::sqrt(2.0)); };  // |normal| > x
  for (const Dtype type : {Dtype::kE5m2, Dtype::kBf16, Dtype::kFp16, Dtype::kFp32}) {
    for (const std::int64_t prior : {0, 1, 100, 100000}) {
      for (const std::int64_t updates : {1, 2, 50, 7000, 2000000}) {
        double share = 0;
        for (int i = 0; i < 32; ++i) {  // the sum's variance grows by one an addition
          const double deviation =
              std::sqrt(static_cast<double>(prior) + static_cast<double>(updates) * (i + 0.5) / 32);
          double changed = 0;
          for (int e = -60; e < 60; ++e) {  // an addition of less than half of the spacing is lost
            const double in_binade =
                beyond(std::ldexp(1.0, e) / deviation) - beyond(std::ldexp(2.0, e) / deviation);
            changed += in_binade * beyond(std::ldexp(0.5, e - significand_bits(type) + 1));
          }
          share += changed / 32;
        }
        CAPTURE(to_string(type), prior, updates);
        CHECK(std::abs(changing_share(type, UpdateValues::kNormal, prior, updates) - share) < 2e-4);
      }
    }
  }
  CHECK(changing_share(Dtype::kBf16, UpdateValues::kNormal, 5, 0) == 1);
}

}  // namespace

// Random loads, devices and constants of scatters, and the formulas of contention.hpp a second time, plainly.
#pragma once

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

#include "random_values.hpp"

namespace natten_sim::test {

inline constexpr int kCases = 4000;

/// But for rounding, of counts too.
inline bool same(double a, double b) {  // what the L2 keeps may leave a number that has hardly any digits
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-250;
}
inline bool same_count(std::int64_t a, double b) {
  return std::abs(static_cast<double>(a) - b) <= 0.51 + 1e-9 * std::abs(b);
}

inline double up(double value) { return std::ceil(value - 1e-9); }  // of quotients of integers

inline ScatterLoad random_load(RandomValues& random) {
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

inline ContentionProfile random_profile(RandomValues& random) {
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
inline ContentionPrediction contention_by_formula(const ScatterLoad& load, const ContentionProfile& profile) {
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
inline Sent sent_by_formula(const ScatterLoad& load, const ContentionPrediction& p,
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

inline SweepConstants random_constants(RandomValues& random) {
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
  c.sole_bytes = random.real(32, 4096);
  c.sole_exponent = random.real(0, 2);
  c.sole_server_share = random.real(0.01, 1);
  c.cut_ns = random.real(0, 3);
  c.change_exponent = random.real(0, 2);
  c.change_narrow_exponent = random.real(0, 1);
  return c;
}

}  // namespace natten_sim::test

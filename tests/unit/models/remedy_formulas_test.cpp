// The formulas of remedies.hpp a second time, plainly, against random loads, devices and constants.
#include "scatter_formulas.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "random.hpp"
#include "round_profile.hpp"

namespace remedy_formulas_test {

using namespace natten_sim;
using namespace natten_sim::test;

/// Each remedy as the header says: the load that it leaves, and what it adds.
struct Expected {
  ScatterLoad load;
  double extra_ns = 0, extra_bytes = 0;
};

/// The nearest whole number to groups (1 - (1 - share)^group). Groups are a multiple of a half now and then, and
/// then the power, however small, decides: a power that is no zero leaves less than the half.
std::int64_t groups_with_row(std::int64_t multiplicity, std::int64_t updates, double group) {
  const long double groups = std::max(static_cast<long double>(updates) / group, 1.0L);
  const long double other = static_cast<long double>(updates - multiplicity) / updates;
  const long double without = groups * std::pow(other, static_cast<long double>(group));
  const long double whole = std::floor(groups);
  long double nearest = std::floor(groups - without + 0.5L);
  if (groups - whole == 0.5L && without > 0 && without < 0.5L) nearest = whole;
  return std::max<std::int64_t>(std::min<std::int64_t>(std::llround(nearest), multiplicity), 1);
}

std::int64_t divided_up(std::int64_t value, std::int64_t by) { return value / by + (value % by > 0); }

std::map<std::string, Expected> remedies_by_hand(ScatterLoad load, std::int64_t table_rows,
                                                 const ContentionProfile& profile,
                                                 const std::vector<OtherConstruct>& others,
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
  for (const OtherConstruct& other : others) all[other.remedy] = {other.load};
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

/// Whether a place holds who belongs there: of the remedies from it on that no earlier group of equally fast ones
/// has taken, those within 5% of the fastest come first, the one that asks least before the others.
bool ranked(const std::vector<Remedy>& remedies, std::size_t place) {
  double group = 0;  // time of the fastest of the place's group
  for (std::size_t i = 0; i <= place;) {
    group = remedies[i].time_ns;
    for (std::size_t j = i; j < remedies.size(); ++j) group = std::min(group, remedies[j].time_ns);
    while (i < remedies.size() && remedies[i].time_ns <= 1.05 * group) ++i;
  }
  for (std::size_t j = place + 1; j < remedies.size(); ++j) {
    const Remedy &here = remedies[place], &later = remedies[j];
    const bool tie = later.time_ns <= 1.05 * group;
    if (!tie && later.time_ns < here.time_ns) return false;
    if (tie && later.effort < here.effort) return false;
    if (tie && later.effort == here.effort && later.time_ns < here.time_ns) return false;
  }
  return true;
}

void check_remedies(std::uint64_t seed) {
  INFO("NATTEN_SIM_SEED=" << seed);
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
    std::vector<OtherConstruct> others;
    for (const char* name : {"index-add", "packed-x2", "vector"}) {
      if (random.coin()) continue;
      ScatterLoad other = load;
      other.path = random.of({InstructionPath::kRed, InstructionPath::kAtom, InstructionPath::kCas});
      other.vector_width = random.of<std::int64_t>({1, 2, 4, 8});
      others.push_back({name, random.coin() ? RemedyEffort::kOperator : RemedyEffort::kInstruction,
                        "construct of " + std::string(name), other});
    }
    const PreReductionCosts costs{"", random.real(0, 0.1), random.real(0, 0.1), random.real(0, 0.1)};
    const std::int64_t table_rows = load.rows_touched + random.whole(0, 1000);
    const auto remedies = compare_remedies(load, table_rows, profile, others, costs);
    const auto expected = remedies_by_hand(load, table_rows, profile, others, costs);
    REQUIRE(remedies.size() == expected.size());
    for (std::size_t i = 0; i < remedies.size(); ++i) {
      const Remedy& remedy = remedies[i];
      CAPTURE(remedy.name);
      REQUIRE(expected.contains(remedy.name));
      const Expected& one = expected.at(remedy.name);
      REQUIRE(ranked(remedies, i));
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

TEST_CASE("remedies cost what their changed loads and their own work cost, fastest first") {
  check_remedies(stored_seed());
  check_remedies(496540520);  // a warp's groups are half a group more than whole, but for a tiny power
}

TEST_CASE("a power that no double can subtract decides whether half a group is rounded up") {
  // The nearest whole numbers to u / g (1 - (1 - m / u)^g), in exact fractions; halves of all updates go up.
  struct Case {
    std::int64_t multiplicity, updates, of_warps, of_blocks;
  };
  for (const Case& test : {Case{1126, 1136, 35, 4}, Case{2404774, 2468496, 77140, 9643}, Case{811, 1104, 34, 4},
                           Case{400, 400, 13, 2}, Case{308, 400, 12, 2}, Case{2999999, 3000000, 93750, 11719},
                           Case{127999, 128128, 4004, 500}, Case{128128, 128128, 4004, 501}}) {
    CAPTURE(test.multiplicity, test.updates);
    ScatterLoad load;
    load.updates = test.updates;
    load.rows_touched = 2;
    load.max_multiplicity = load.serial_multiplicity = test.multiplicity;
    load.width = 32;
    load.type = Dtype::kFp32;
    const ContentionProfile profile = round_profile();
    for (const Remedy& remedy : compare_remedies(load, 10, profile, {}, {})) {
      ScatterLoad fewer = load;
      fewer.max_multiplicity = fewer.serial_multiplicity =
          remedy.name == "warp-pre-reduction" ? test.of_warps : test.of_blocks;
      if (remedy.name != "warp-pre-reduction" && remedy.name != "block-pre-reduction") continue;
      CHECK(remedy.time_ns == predict_contention(fewer, profile).time_ns);
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

}  // namespace remedy_formulas_test

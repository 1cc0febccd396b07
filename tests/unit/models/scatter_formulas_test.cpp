// The formulas of contention.hpp a second time, against random loads, devices and constants.
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

namespace scatter_formulas_test {

using namespace natten_sim;
using namespace natten_sim::test;

TEST_CASE("a prediction for a device that was not swept is that of its formulas, bound by bound") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
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

}  // namespace scatter_formulas_test

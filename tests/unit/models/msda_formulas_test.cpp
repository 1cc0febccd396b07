// The formulas of msda_run.hpp and msda_time.hpp a second time, plainly, against random kernels and costs.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <natten_sim/models/msda/msda_run.hpp>

#include "catch.hpp"
#include "random_values.hpp"
#include "refused.hpp"
#include "random.hpp"

namespace msda_formulas_test {

using namespace natten_sim;
using test::RandomValues;

constexpr int kCases = 3000;

/// But for rounding.
bool same(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

MsdaCosts random_costs(RandomValues& random) {
  MsdaCosts costs;
  costs.launch_ns = random.real(0, 5000);
  costs.further_launch_ns = random.real(0, 3000);
  costs.load_chain_ns = random.real(0, 900);
  costs.instruction_chain_ns = random.real(0, 4);
  costs.far_ns = random.real(0, 500);
  costs.instruction_ns = random.real(0, 0.02);
  costs.line_ns = random.real(0, 0.1);
  costs.store_line_ns = random.real(0, 0.4);
  costs.reduction_ns = random.real(0, 0.05);
  costs.sector_ns = random.real(0, 0.05);
  costs.atom_ns = random.real(0, 0.1);
  costs.cas_ns = random.real(0, 0.2);
  costs.scalar_ns = random.real(0, 0.3);
  costs.atom_chain_ns = random.real(0, 100);
  costs.cas_chain_ns = random.real(0, 100);
  costs.scalar_chain_ns = random.real(0, 100);
  costs.resident_bytes = random.real(0, 4e6);
  costs.overlap = random.of({1.0, 1.5, 3.0});
  // One kernel of each kind, forward ones once.
  for (const MsdaPhase phase : values_of<MsdaPhase>()) {
    for (const MsdaTiling tiling : values_of<MsdaTiling>()) {
      for (const bool half : {false, true}) {
        for (const MsdaUpdate update : values_of<MsdaUpdate>()) {
          MsdaVariant variant{phase, tiling, update, half, random.real(10, 400), random.whole(1, 8)};
          if (phase == MsdaPhase::kForward) variant.update.reset();
          costs.variants.push_back(variant);
          if (phase == MsdaPhase::kForward) break;
        }
      }
    }
  }
  return costs;
}

MsdaRun random_run(RandomValues& random) {
  MsdaRun run;
  run.phase = random.of({MsdaPhase::kForward, MsdaPhase::kBackward, MsdaPhase::kBackward});
  run.tiling = random.of({MsdaTiling::kBlock, MsdaTiling::kPoint});
  run.update = values_of<MsdaUpdate>()[static_cast<std::size_t>(random.whole(0, 6))];
  run.element_bytes = random.of<std::int64_t>({2, 4});
  run.parameter_bytes = random.of<std::int64_t>({2, 4});
  run.pairs = static_cast<double>(random.whole(1, 40000));
  run.levels = static_cast<double>(random.whole(1, 5));
  run.points = static_cast<double>(random.whole(1, 8));
  run.head_channels = static_cast<double>(random.of<std::int64_t>({2, 4, 8, 16, 32, 64, 96, 128, 256}));
  run.reads = static_cast<double>(random.of<std::int64_t>({0, random.whole(1, 500000)}));
  run.rows = std::floor(run.reads * random.real(0, 1));
  run.value_bytes = static_cast<double>(random.whole(1000, 8000000));
  run.missed_bytes = static_cast<double>(random.of<std::int64_t>({0, random.whole(1, 8000000)}));
  return run;
}

/// How a lane's 16 bytes are added, whether it waits for answers, and the copies that this is added to.
struct Adding {
  double instructions, bytes, ns, chain_ns;
};

Adding adding_of(const MsdaRun& run, const MsdaCosts& costs) {
  const bool half = run.element_bytes == 2;
  const Adding words{4, 4, costs.reduction_ns, 0};
  const Adding halves{8, 2, costs.scalar_ns, costs.scalar_chain_ns};
  const Adding wide{half ? 2.0 : 1.0, 16, costs.reduction_ns, 0};  // sums are fp32
  if (run.phase == MsdaPhase::kForward) return wide;
  switch (run.update) {
    case MsdaUpdate::kRed16:
      return {1, 16, costs.reduction_ns, 0};
    case MsdaUpdate::kRed4:
      return words;
    case MsdaUpdate::kAtom:
      return {4, 4, costs.atom_ns, costs.atom_chain_ns};
    case MsdaUpdate::kCas:
      return {4, 4, costs.cas_ns, costs.cas_chain_ns};
    case MsdaUpdate::kScalar:
    case MsdaUpdate::kPrivate:
      return half ? halves : words;
    case MsdaUpdate::kAccumulator:
      return wide;
  }
  return {};
}

double gradient_of(const MsdaRun& run) {
  if (run.update == MsdaUpdate::kPrivate) return 8 * run.value_bytes;
  return run.update == MsdaUpdate::kAccumulator && run.element_bytes == 2 ? 2 * run.value_bytes
                                                                          : run.value_bytes;
}

double left(double bytes, const MsdaCosts& costs) {
  return bytes == 0 ? 0 : std::exp(-costs.resident_bytes / bytes);
}

MsdaTime time_by_formula(const MsdaRun& run, const MsdaCosts& costs, const MsdaVariant& variant, double sms,
                         double dram_bytes_per_ns) {
  const bool backward = run.phase == MsdaPhase::kBackward, point = run.tiling == MsdaTiling::kPoint;
  const double samples = run.pairs * run.levels * run.points;
  const double row = run.head_channels * static_cast<double>(run.element_bytes);
  const double lanes = row < 16 ? 1 : row / 16;
  const double element = static_cast<double>(run.element_bytes), output = run.pairs * run.head_channels;
  const Adding adding = adding_of(run, costs);

  MsdaTime time;
  // Launches: forward with points, fp32 sums are zeroed, and those of 16 bits read (4) and written (2) again.
  double launches = 0, zeroed = 0, converted = 0;
  if (backward) {
    launches = 1;
    zeroed = gradient_of(run);
    if (run.update == MsdaUpdate::kPrivate || run.update == MsdaUpdate::kAccumulator) {
      launches = 2;
      converted = gradient_of(run) + run.value_bytes;
    }
  } else if (point) {
    launches = element == 2 ? 2 : 1;
    zeroed = output * 4;
    if (element == 2) converted = output * (4 + 2);
  }
  time.launch_ns = costs.launch_ns + launches * costs.further_launch_ns +
                   zeroed * left(zeroed, costs) / dram_bytes_per_ns +
                   converted * left(converted, costs) / dram_bytes_per_ns;

  const double stream =
      (backward ? 2 : 1) * (samples * 3 * static_cast<double>(run.parameter_bytes) + output * element);
  const double footprint = run.rows * row + stream + (backward ? gradient_of(run) : 0);
  // Chain: CTAs of 256 threads.
  const double threads = run.pairs * lanes * (point ? run.levels * run.points : 1);
  const double rounds =
      std::ceil(std::ceil(threads / 256) / (sms * static_cast<double>(variant.ctas_per_sm)));
  const double in_step = !point && !backward ? 2 : 1;
  const double steps = point ? 1 : run.levels * std::ceil(run.points / in_step);
  const double far = run.reads == 0 ? 0 : costs.far_ns * (run.rows / run.reads) * left(footprint, costs);
  double step_ns = costs.load_chain_ns + far + variant.instructions * in_step * costs.instruction_chain_ns;
  if (backward && adding.chain_ns > 0)
    step_ns += 4 * adding.instructions * (adding.chain_ns + far);  // four corners
  time.chain_ns = rounds * steps * step_ns;

  time.issue_ns = samples * (lanes / 32) * variant.instructions * costs.instruction_ns;
  time.l2_ns = run.reads * (row < 128 ? 1 : row / 128) * costs.line_ns;
  if (backward && !point) time.l2_ns += run.reads * costs.store_line_ns / lanes;
  const double rows = backward ? run.reads : point ? samples : 0;
  const double sectors_each = std::max(lanes * adding.bytes / 32, 1.0);
  time.atomics_ns = rows * adding.instructions * (adding.ns + sectors_each * costs.sector_ns);
  double missed = run.missed_bytes;
  if (backward)
    missed += 2 * run.missed_bytes * left(gradient_of(run), costs) * (gradient_of(run) / run.value_bytes);
  const double dram = (missed + stream) * left(footprint, costs);
  time.dram_ns = dram / dram_bytes_per_ns;
  double norm = 0;
  for (const double part : {time.chain_ns, time.issue_ns, time.l2_ns, time.atomics_ns, time.dram_ns})
    norm += std::pow(part, costs.overlap);
  time.time_ns = time.latency_ns = time.launch_ns + std::pow(norm, 1 / costs.overlap);
  time.achieved_bytes_per_ns = dram / time.time_ns;
  const std::map<double, MsdaBound> parts = {
      {time.launch_ns, MsdaBound::kLaunch},   {time.chain_ns, MsdaBound::kChain},
      {time.issue_ns, MsdaBound::kIssue},     {time.l2_ns, MsdaBound::kL2},
      {time.atomics_ns, MsdaBound::kAtomics}, {time.dram_ns, MsdaBound::kDram}};
  time.bound = parts.rbegin()->second;
  return time;
}

TEST_CASE("the time of a launch is that of its formulas, part by part, for every kernel") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  for (int n = 0; n < kCases; ++n) {
    CAPTURE(n);
    const MsdaCosts costs = random_costs(random);
    const MsdaRun run = random_run(random);
    ContentionProfile profile;
    profile.sms = random.whole(1, 150);
    profile.dram_bytes_per_ns = random.real(1, 4000);
    double dram = profile.dram_bytes_per_ns;
    if (random.coin()) {  // what the DRAM gives beside scattered rows
      dram = random.real(1, 4000);
      profile.sweep.emplace().constants.dram_bytes_per_ns = dram;
    }
    const MsdaVariant& variant = msda_variant(run, costs);
    CHECK(variant.phase == run.phase);
    CHECK(variant.tiling == run.tiling);
    CHECK(variant.half == (run.element_bytes == 2));
    if (run.phase == MsdaPhase::kBackward) CHECK(variant.update == run.update);
    const MsdaTime time = predict_msda_run(run, costs, profile);
    const MsdaTime expected = time_by_formula(run, costs, variant, static_cast<double>(profile.sms), dram);
    REQUIRE(same(time.launch_ns, expected.launch_ns));
    REQUIRE(same(time.chain_ns, expected.chain_ns));
    REQUIRE(same(time.issue_ns, expected.issue_ns));
    REQUIRE(same(time.l2_ns, expected.l2_ns));
    REQUIRE(same(time.atomics_ns, expected.atomics_ns));
    REQUIRE(same(time.dram_ns, expected.dram_ns));
    REQUIRE(same(time.time_ns, expected.time_ns));
    REQUIRE(same(time.latency_ns, expected.latency_ns));
    REQUIRE(same(time.achieved_bytes_per_ns, expected.achieved_bytes_per_ns));
    REQUIRE(time.bound == expected.bound);
    REQUIRE(time.parallelism_ns == 0);
  }
}

TEST_CASE("nothing leaves an L2, even one of no bytes, and the launch is the bound of what takes no more") {
  CHECK(msda_share_that_leaves(0, {}) == 0);
  CHECK(msda_share_that_leaves(1, {}) == 1);
  MsdaCosts costs;
  costs.launch_ns = costs.load_chain_ns = 30;  // as much as the one step of the chain
  costs.variants = {{MsdaPhase::kForward, MsdaTiling::kBlock, std::nullopt, true, 0, 1}};
  ContentionProfile profile;
  profile.sms = 1;
  profile.dram_bytes_per_ns = 1e12;
  costs.resident_bytes = 1e12;
  const MsdaRun run{.pairs = 1, .head_channels = 8, .value_bytes = 1};
  CHECK(predict_msda_run(run, costs, profile).chain_ns == 30);
  CHECK(predict_msda_run(run, costs, profile).bound == MsdaBound::kLaunch);
}

TEST_CASE("a launch has the error of its pass and tiling, and of no other") {
  MsdaCosts costs;
  costs.errors = {{MsdaPhase::kForward, MsdaTiling::kBlock, 1, 1.1, 1.01},
                  {MsdaPhase::kForward, MsdaTiling::kPoint, 2, 1.2, 1.02},
                  {MsdaPhase::kBackward, MsdaTiling::kBlock, 3, 1.3, 1.03}};
  const auto error = [&](MsdaPhase phase, MsdaTiling tiling) {
    return msda_cost_error(MsdaRun{.phase = phase, .tiling = tiling}, costs);
  };
  CHECK(error(MsdaPhase::kForward, MsdaTiling::kBlock)->unfitted_points == 1);
  CHECK(error(MsdaPhase::kForward, MsdaTiling::kPoint)->unfitted_points == 2);
  CHECK(error(MsdaPhase::kBackward, MsdaTiling::kBlock)->unfitted_points == 3);
  CHECK_FALSE(error(MsdaPhase::kBackward, MsdaTiling::kPoint).has_value());
}

TEST_CASE("bounds of reads, updates and the DRAM are those of their formulas, in both passes") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  RandomValues random(seed);
  for (int n = 0; n < kCases; ++n) {
    CAPTURE(n);
    ContentionProfile profile;
    profile.sms = random.whole(1, 150);
    profile.warps_per_sm = static_cast<double>(random.whole(1, 64));
    profile.dram_bytes_per_ns = random.real(1, 4000);
    MsdaKernel kernel;
    kernel.occupancy = random.real(0.05, 1);
    kernel.bytes_in_flight = random.real(1, 400);
    kernel.read_request_ns = random.real(0, 0.01);
    kernel.read_byte_ns = random.real(0, 0.0002);
    kernel.write_request_ns = random.real(0, 0.02);
    kernel.host_forward_ns = random.real(0, 30000);
    kernel.host_backward_ns = random.real(0, 30000);
    MsdaWork work;
    work.reads = static_cast<double>(random.whole(1, 2000000));
    work.read_bytes = static_cast<double>(random.of<std::int64_t>({16, 32, 64, 128}));
    work.dram_bytes = static_cast<double>(random.of<std::int64_t>({0, random.whole(1, 20000000)}));
    ContentionPrediction updates;
    updates.slice_throughput_ns = random.real(0, 20000);
    updates.hottest_address_ns = random.real(0, 20000);
    updates.issue_ns = random.real(0, 20000);

    const double reads_ns =
        work.reads * kernel.read_request_ns + work.reads * work.read_bytes * kernel.read_byte_ns;
    // Little's law over a round trip of 600 ns.
    const double in_flight = kernel.occupancy * static_cast<double>(profile.sms) * profile.warps_per_sm *
                             kernel.bytes_in_flight / 600;
    const double limit = std::min(in_flight, profile.dram_bytes_per_ns);
    const double parallelism_ns = work.dram_bytes / limit,
                 dram_ns = work.dram_bytes / profile.dram_bytes_per_ns;
    const double atomics_ns = std::max({updates.slice_throughput_ns, updates.hottest_address_ns,
                                        updates.issue_ns, work.reads * kernel.write_request_ns});
    const auto check = [&](const MsdaTime& time, double core_ns, MsdaBound core, double host_ns) {
      REQUIRE(same(time.l2_ns, reads_ns));
      REQUIRE(same(time.bandwidth_limit_bytes_per_ns, limit));
      REQUIRE(same(time.parallelism_ns, parallelism_ns));
      REQUIRE(same(time.dram_ns, dram_ns));
      const double longest = std::max({core_ns, parallelism_ns, dram_ns});
      REQUIRE(same(time.time_ns, longest));
      REQUIRE(same(time.latency_ns, std::max(longest, host_ns)));
      REQUIRE(same(time.achieved_bytes_per_ns, work.dram_bytes / longest));
      const MsdaBound memory =
          in_flight < profile.dram_bytes_per_ns ? MsdaBound::kMemoryParallelism : MsdaBound::kDram;
      REQUIRE(time.bound == (core_ns >= parallelism_ns ? core : memory));
    };
    check(predict_msda_forward(work, kernel, profile), reads_ns, MsdaBound::kL2, kernel.host_forward_ns);
    const MsdaTime backward = predict_msda_backward(work, updates, kernel, profile);
    REQUIRE(same(backward.atomics_ns, atomics_ns));
    check(backward, reads_ns + atomics_ns, atomics_ns > reads_ns ? MsdaBound::kAtomics : MsdaBound::kL2,
          kernel.host_backward_ns);
  }
}

TEST_CASE("a pass that does nothing reaches no rate, and updates as long as the reads count as reads") {
  ContentionProfile profile;
  profile.sms = 1;
  profile.warps_per_sm = profile.dram_bytes_per_ns = 1;
  MsdaKernel kernel;
  kernel.occupancy = kernel.bytes_in_flight = 1;
  const MsdaTime nothing = predict_msda_forward({}, kernel, profile);
  CHECK(nothing.time_ns == 0);
  CHECK(nothing.achieved_bytes_per_ns == 0);
  kernel.read_request_ns = 2;
  ContentionPrediction updates;
  updates.issue_ns = 20;
  const MsdaTime equal = predict_msda_backward({.reads = 10}, updates, kernel, profile);
  CHECK(equal.time_ns == 40);
  CHECK(equal.bound == MsdaBound::kL2);
}

}  // namespace msda_formulas_test

#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/msda/msda_run.hpp>

#include "catch.hpp"

namespace msda_run_test {

using namespace natten_sim;

bool close_to(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

/// 10 SMs, 2 CTAs each. Constants are 0 and the parts add up.
MsdaCosts free_costs() {
  MsdaCosts costs;
  costs.resident_bytes = 1e12;  // all stays in the L2
  for (const MsdaPhase phase : values_of<MsdaPhase>()) {
    for (const MsdaTiling tiling : values_of<MsdaTiling>()) {
      for (const MsdaUpdate update : values_of<MsdaUpdate>()) {
        for (const bool half : {false, true})
          costs.variants.push_back({phase, tiling, update, half, half ? 200.0 : 100.0, 2});
      }
    }
  }
  return costs;
}

ContentionProfile ten_sms() {
  ContentionProfile profile;
  profile.sms = 10;
  profile.dram_bytes_per_ns = 1000;
  return profile;
}

/// 640 pairs of 4 lanes: 2,560 threads are 10 CTAs. 3 levels x 5 points, 9,600 samples, 20,000 reads.
MsdaRun half_run() {
  return {.pairs = 640, .levels = 3, .points = 5, .reads = 20000, .rows = 5000, .value_bytes = 1e6};
}

double time_of(const MsdaRun& run, const MsdaCosts& costs) {
  return predict_msda_run(run, costs, ten_sms()).time_ns;
}

TEST_CASE("a forward chain takes two samples a step, a backward one a sample, the point tiling one") {
  MsdaCosts costs = free_costs();
  costs.load_chain_ns = 7;
  costs.instruction_chain_ns = 0.5;
  MsdaRun run = half_run();
  CHECK(close_to(time_of(run, costs), 3 * 3 * (7 + 0.5 * 200 * 2)));
  run.phase = MsdaPhase::kBackward;
  CHECK(close_to(time_of(run, costs), 15 * (7 + 0.5 * 200)));
  run.tiling = MsdaTiling::kPoint;  // 15 times the threads: 150 CTAs in rounds of 20
  CHECK(close_to(time_of(run, costs), 8 * (7 + 0.5 * 200)));
  run.tiling = MsdaTiling::kBlock;
  run.pairs = 640 * 3;  // 30 CTAs, two rounds
  CHECK(close_to(time_of(run, costs), 2 * 15 * (7 + 0.5 * 200)));
}

TEST_CASE("an answer of each instruction that adds to a row is waited for") {
  MsdaCosts costs = free_costs();
  costs.atom_chain_ns = 10;
  costs.scalar_chain_ns = 20;
  MsdaRun run = half_run();
  run.phase = MsdaPhase::kBackward;
  CHECK(time_of(run, costs) == 0);
  run.update = MsdaUpdate::kAtom;  // four words a lane, four corners
  CHECK(close_to(time_of(run, costs), 15 * 4 * 4 * 10));
  run.update = MsdaUpdate::kScalar;  // eight elements a lane
  CHECK(close_to(time_of(run, costs), 15 * 4 * 8 * 20));
  run.element_bytes = 4;  // fp32 has a reduction
  CHECK(time_of(run, costs) == 0);
}

TEST_CASE("instructions, lines and reductions are counted over the whole launch") {
  MsdaRun run = half_run();
  MsdaCosts costs = free_costs();
  costs.instruction_ns = 0.01;
  CHECK(close_to(time_of(run, costs), 9600.0 * 4 / 32 * 200 * 0.01));
  costs = free_costs();
  costs.line_ns = 0.1;
  CHECK(close_to(time_of(run, costs), 2000));
  run.head_channels = 128;  // 256 bytes are two lines
  CHECK(close_to(time_of(run, costs), 4000));
  run = half_run();
  run.phase = MsdaPhase::kBackward;
  costs = free_costs();
  costs.reduction_ns = 0.1;
  costs.sector_ns = 0.01;
  CHECK(close_to(time_of(run, costs), 20000 * (0.1 + 2 * 0.01)));  // 64 bytes are two sectors
  run.update = MsdaUpdate::kRed4;                                  // four pieces of 16 bytes: a sector each
  CHECK(close_to(time_of(run, costs), 20000 * (4 * 0.1 + 4 * 0.01)));
  run.update = MsdaUpdate::kAccumulator;  // two pieces of 64 bytes
  CHECK(close_to(time_of(run, costs), 20000 * (2 * 0.1 + 4 * 0.01)));
}

TEST_CASE("zeroing and conversion are launches of their own, and write what the L2 does not hold") {
  MsdaCosts costs = free_costs();
  costs.launch_ns = 100;
  costs.further_launch_ns = 10;
  MsdaRun run = half_run();
  CHECK(time_of(run, costs) == 100);
  run.tiling = MsdaTiling::kPoint;
  CHECK(time_of(run, costs) == 120);
  run.element_bytes = 4;
  CHECK(time_of(run, costs) == 110);
  run = half_run();
  run.phase = MsdaPhase::kBackward;
  CHECK(time_of(run, costs) == 110);
  run.update = MsdaUpdate::kAccumulator;
  CHECK(time_of(run, costs) == 120);
  CHECK(msda_gradient_bytes(run) == 2e6);
  // Half of 1 MB stays: e^-x = 1/2.
  run.update = MsdaUpdate::kRed16;
  run.missed_bytes = 0;
  costs.resident_bytes = 1e6 * std::log(2.0);
  CHECK(close_to(predict_msda_run(run, costs, ten_sms()).launch_ns, 110 + 0.5e6 / 1000));
}

TEST_CASE("parts join as a norm, and the largest is the bound") {
  MsdaCosts costs = free_costs();
  costs.overlap = 2;
  costs.line_ns = 0.3;                      // 6,000
  costs.load_chain_ns = 888.8888888888889;  // 9 steps: 8,000
  const MsdaTime time = predict_msda_run(half_run(), costs, ten_sms());
  CHECK(close_to(time.time_ns, 10000));
  CHECK(time.bound == MsdaBound::kChain);
}

TEST_CASE("a kernel that was not measured is refused") {
  MsdaCosts costs = free_costs();
  costs.variants.clear();
  CHECK_THROWS_AS(time_of(half_run(), costs), InvalidParameter);
  CHECK_FALSE(msda_cost_error(half_run(), costs).has_value());
}

TEST_CASE("rows that are touched first come from afar, and streams are parameters and output") {
  MsdaCosts costs = free_costs();
  costs.resident_bytes = 0;  // nothing stays in the L2
  costs.far_ns = 80;
  // Three numbers of 4 bytes a sample, 32 channels of 2 bytes a pair.
  const double stream = 9600 * 3 * 4 + 640 * 32 * 2;
  CHECK(msda_stream_bytes(half_run()) == stream);
  const MsdaTime time = predict_msda_run(half_run(), costs, ten_sms());
  // One read in four touches a row first, in each of 3 x 3 steps.
  CHECK(close_to(time.chain_ns, 9 * 80 * 5000.0 / 20000));
  CHECK(close_to(time.dram_ns, stream / 1000));
  CHECK(close_to(time.time_ns, 180 + stream / 1000));
  CHECK(close_to(time.achieved_bytes_per_ns, stream / (180 + stream / 1000)));
}

}  // namespace msda_run_test

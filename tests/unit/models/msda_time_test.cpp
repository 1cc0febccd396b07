// Bounds of a pass of multi-scale deformable attention, with round numbers.
#include <natten_sim/models/msda/msda_time.hpp>

#include "catch.hpp"

namespace msda_time_test {

using namespace natten_sim;

/// Half of 640 warps, 60 bytes each in 600 ns: 32 bytes a ns in flight, of 40 that the DRAM gives.
ContentionProfile ten_sms() {
  ContentionProfile profile;
  profile.sms = 10;
  profile.warps_per_sm = 64;
  profile.dram_bytes_per_ns = 40;
  return profile;
}

MsdaKernel round_kernel() {
  MsdaKernel kernel;
  kernel.occupancy = 0.5;
  kernel.bytes_in_flight = 60;
  kernel.read_request_ns = 2;
  kernel.read_byte_ns = 0.25;
  kernel.host_forward_ns = 500;
  return kernel;
}

TEST_CASE("reads cost a request and their bytes, and the largest bound is the time") {
  MsdaWork work{.reads = 100, .read_bytes = 64, .dram_bytes = 3200};
  MsdaTime time = predict_msda_forward(work, round_kernel(), ten_sms());
  CHECK(time.l2_ns == 100 * (2 + 64 * 0.25));
  CHECK(time.parallelism_ns == 3200 / 32.0);
  CHECK(time.dram_ns == 3200 / 40.0);
  CHECK(time.time_ns == 1800);
  CHECK(time.bound == MsdaBound::kL2);
  CHECK(time.latency_ns == 1800);
  work.dram_bytes = 64000;  // 2,000 ns at 32 bytes a ns
  time = predict_msda_forward(work, round_kernel(), ten_sms());
  CHECK(time.time_ns == 2000);
  CHECK(time.bound == MsdaBound::kMemoryParallelism);
  CHECK(time.achieved_bytes_per_ns == 32);
  MsdaKernel full = round_kernel();
  full.occupancy = 1;  // 64 bytes a ns in flight: the DRAM binds
  time = predict_msda_forward(work, full, ten_sms());
  CHECK(time.time_ns == 1800);  // 1,600 from the DRAM
  CHECK(time.bound == MsdaBound::kL2);
  work.reads = 50;
  time = predict_msda_forward(work, full, ten_sms());
  CHECK(time.time_ns == 1600);
  CHECK(time.bound == MsdaBound::kDram);
}

TEST_CASE("a pass that is shorter than the host's work has the host's latency") {
  const MsdaTime time = predict_msda_forward({.reads = 10, .read_bytes = 64}, round_kernel(), ten_sms());
  CHECK(time.time_ns == 180);
  CHECK(time.latency_ns == 500);
  CHECK(time.achieved_bytes_per_ns == 0);
}

}  // namespace msda_time_test

// Which SM is near which partition, and streams whose SMs start late or not at all.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <natten_sim/core/kv_order.hpp>
#include <natten_sim/kernels/partitions/partitions.hpp>
#include <natten_sim/kernels/stream/stream.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::kernels;

TEST_CASE("every SM of a GH100 is near one of two partitions, and half of them near each") {
  const GpuInfo gpu = open_gpu();
  const SmPartitions found = sm_partitions(gpu);
  REQUIRE(found.partition.size() == static_cast<std::size_t>(gpu.sms));
  const auto second = std::count(found.partition.begin(), found.partition.end(), 1);
  WARN(found.partitions << " partitions, " << gpu.sms - second << " and " << second << " SMs, "
                        << found.near_cycles << " and " << found.far_cycles << " cycles");
  CHECK(found.near_cycles > 0);
  CHECK(found.near_cycles <= found.far_cycles);
  if (gpu.compute_major != 9 || gpu.l2_bytes != std::int64_t{60} << 20) return;
  CHECK(found.partitions == 2);
  CHECK(second >= gpu.sms / 3);
  CHECK(second <= gpu.sms - gpu.sms / 3);
  CHECK(found.far_cycles > 1.2 * found.near_cycles);
  // The same answer again: it is a property of the card.
  CHECK(sm_partitions(gpu).partition == found.partition);
}

TEST_CASE("SMs that start late sum the whole buffer, idle ones nothing", "[sanitize]") {
  const GpuInfo gpu = open_gpu();
  const std::int64_t steps = 5;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(steps * kStreamStepBytes / 4));
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<std::uint32_t>(i * 2654435761u + 12345u);
  DeviceBuffer buffer(words.size() * 4);
  buffer.copy_from_host(words.data(), words.size() * 4);
  for (const KvOrder order : {KvOrder::kCyclic, KvOrder::kSawtooth}) {
    for (const int idle_of_three : {0, 1, 3}) {
      std::vector<std::int32_t> delays;
      for (int sm = 0; sm < gpu.sms; ++sm)
        delays.push_back(sm % 3 < idle_of_three ? kStreamIdle : sm % 3 * 7);
      const auto idle = std::count(delays.begin(), delays.end(), kStreamIdle);
      const DeviceBuffer on_gpu = stream_delays(delays);
      const StreamProblem problem{steps * kStreamStepBytes, 3, gpu.sms, order, 500};
      std::vector<std::uint32_t> found(static_cast<std::size_t>(gpu.sms));
      DeviceBuffer sums(found.size() * 4);
      sums.fill(0xff);
      launch_stream(problem, buffer, sums, &on_gpu);
      sums.copy_to_host(found.data(), found.size() * 4);
      CHECK(stream_sums_agree(found, stream_oracle(problem, words), gpu.sms - idle));
    }
  }
  // Where the list of delays ends, SMs are idle.
  const DeviceBuffer first_only = stream_delays({3});
  const StreamProblem problem{steps * kStreamStepBytes, 2, gpu.sms, KvOrder::kCyclic, 500};
  std::vector<std::uint32_t> found(static_cast<std::size_t>(gpu.sms));
  DeviceBuffer sums(found.size() * 4);
  launch_stream(problem, buffer, sums, &first_only);
  sums.copy_to_host(found.data(), found.size() * 4);
  CHECK(stream_sums_agree(found, stream_oracle(problem, words), 1));
  CHECK_THROWS_AS(launch_stream({steps * kStreamStepBytes, 2, gpu.sms}, buffer, sums, &first_only),
                  natten_sim::InvalidParameter);
}

TEST_CASE("a delay of an SM makes the launch so much longer") {
  const GpuInfo gpu = open_gpu();
  const StreamProblem problem{4 * kStreamStepBytes, 1, gpu.sms, KvOrder::kCyclic, 100000};
  DeviceBuffer buffer(static_cast<std::size_t>(problem.bytes));
  buffer.fill(1);
  DeviceBuffer sums(static_cast<std::size_t>(gpu.sms) * 4);
  std::vector<std::int32_t> delays(static_cast<std::size_t>(gpu.sms), 0);
  const auto shortest = [&](std::int32_t last) {
    delays.back() = last;
    const DeviceBuffer on_gpu = stream_delays(delays);
    const std::vector<float> times =
        time_with_events([&] { launch_stream(problem, buffer, sums, &on_gpu); }, 5);
    return *std::min_element(times.begin(), times.end());
  };
  // 3 steps from the first to the last, 33 with 30 more before the first: 11 times as long at one clock.
  CHECK(shortest(30) > 5 * shortest(0));
}

}  // namespace

// The stream kernel against its oracle; with counters, against the figures that any GPU with L2 sectors must
// show.
#include <cstdint>
#include <vector>

#include <natten_sim/kernels/stream/stream.hpp>
#include <natten_sim/validate/measure/range_profiler.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::kernels;

TEST_CASE("every CTA sums the buffer as often as it has passes", "[sanitize]") {
  (void)open_gpu();
  for (const std::int64_t steps : {1, 2, 3, 5, 8, 64}) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(steps * kStreamStepBytes / 4));
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = static_cast<std::uint32_t>(i * 2654435761u + 12345u);
    DeviceBuffer buffer(words.size() * 4);
    buffer.copy_from_host(words.data(), words.size() * 4);
    for (const KvOrder order : {KvOrder::kCyclic, KvOrder::kSawtooth}) {
      for (const int passes : {1, 2, 3}) {
        // Both paces.
        const StreamProblem problem{steps * kStreamStepBytes, passes, 7, order,
                                    passes == 2 ? 0 : 100 * steps};
        DeviceBuffer sums(7 * 4);
        sums.fill(0xff);
        launch_stream(problem, buffer, sums);
        std::vector<std::uint32_t> found(7);
        sums.copy_to_host(found.data(), found.size() * 4);
        for (const std::uint32_t sum : found) CHECK(sum == stream_oracle(problem, words));
      }
    }
  }
}

TEST_CASE("the counter of L2 read sectors sees every load of the stream") {
  const GpuInfo gpu = open_gpu();
  std::string reason;
  const auto profiler =
      natten_sim::validate::RangeProfiler::open(gpu.index, {"l1tex__m_xbar2l1tex_read_sectors.sum"}, reason);
  if (profiler == nullptr) {
    WARN("not checked, no counters: " << reason);
    return;
  }
  const StreamProblem problem{std::int64_t{64} << 20, 8, gpu.sms, KvOrder::kSawtooth, 0};
  DeviceBuffer buffer(static_cast<std::size_t>(problem.bytes));
  buffer.fill(1);
  DeviceBuffer sums(static_cast<std::size_t>(gpu.sms) * 4);
  const std::vector<double> values = profiler->measure([&] { launch_stream(problem, buffer, sums); });
  CHECK(values.at(0) == static_cast<double>(gpu.sms) * 8 * (64 << 20) / 32);
}

}  // namespace

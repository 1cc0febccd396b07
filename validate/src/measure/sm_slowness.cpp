#include <cmath>
#include <cstddef>
#include <cstdint>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/kernels/attention/attention.hpp>
#include <natten_sim/validate/measure/sm_slowness.hpp>

namespace natten_sim::validate {

double rounded_slowness(double slowness) noexcept {
  constexpr double kSteps = 1e5;
  return std::round(slowness * kSteps) / kSteps + 0.0;
}

std::vector<double> slowness_of_sms(std::span<const kernels::ItemInterval> intervals, std::int32_t sms) {
  constexpr std::uint64_t kLongNs = 200'000;
  struct Clock {
    double sum = 0;  // of nanoseconds a cycle
    int items = 0;
    [[nodiscard]] double mean() const { return sum / items; }
  };
  std::vector<Clock> clocks(static_cast<std::size_t>(sms));
  for (const kernels::ItemInterval& item : intervals) {
    if (item.end_ns <= item.begin_ns + kLongNs || item.end_cycle <= item.begin_cycle) continue;
    Clock& clock = clocks[item.sm];
    clock.sum += static_cast<double>(item.end_ns - item.begin_ns) /
                 static_cast<double>(item.end_cycle - item.begin_cycle);
    ++clock.items;
  }
  double sum = 0;
  int seen = 0;
  for (const Clock& clock : clocks) {
    if (clock.items == 0) continue;
    sum += clock.mean();
    ++seen;
  }
  std::vector<double> slowness;
  if (seen == 0) return slowness;
  for (const Clock& clock : clocks)
    slowness.push_back(clock.items == 0 ? 0 : rounded_slowness(clock.mean() / (sum / seen) - 1));
  return slowness;
}

std::vector<double> sample_slowness(const kernels::GpuInfo& gpu) {
  constexpr int kLaunches = 12, kCounted = 8;  // the first bring the GPU under load
  kernels::AttentionProblem problem;
  problem.tokens = 135168;  // four items a CTA on 132 SMs
  kernels::AttentionVariant variant;
  variant.stages = 2;
  const kernels::AttentionTiles& tiles = kernels::require_valid(problem, variant);
  if (tiles.shared_memory_bytes() * variant.ctas_per_sm > gpu.shared_memory_per_block_bytes) return {};
  const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(problem, 1);
  const kernels::AttentionLaunch launch = kernels::prepare_attention(gpu, problem, variant, buffers);
  const auto items = static_cast<std::size_t>(ceil_divide(problem.tokens, variant.q_tile));
  std::vector<kernels::DeviceBuffer> on_gpu;
  for (int i = 0; i < kCounted; ++i) on_gpu.emplace_back(items * sizeof(kernels::ItemInterval));
  for (int i = 0; i < kLaunches; ++i) launch(&on_gpu[static_cast<std::size_t>(i % kCounted)]);
  kernels::synchronize();
  std::vector<kernels::ItemInterval> intervals(items * kCounted);
  for (std::size_t i = 0; i < on_gpu.size(); ++i)
    on_gpu[i].copy_to_host(&intervals[i * items], on_gpu[i].bytes());
  return slowness_of_sms(intervals, gpu.sms);
}

}  // namespace natten_sim::validate

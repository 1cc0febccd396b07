#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/measure/timing.hpp>

namespace natten_sim::validate {
namespace {

constexpr int kLaunchesAtOnce = 5;  // while clocks settle

}  // namespace

Spread spread_of(std::span<const double> values) {
  if (values.empty()) throw InvalidParameter("values", "none", "at least one value");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  const std::size_t middle = n / 2;
  Spread spread;
  spread.median = n % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  spread.p95 = sorted[static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(n))) - 1];
  spread.smallest = sorted.front();
  spread.largest = sorted.back();
  return spread;
}

std::function<void()> in_turn(std::vector<std::function<void()>> each) {
  if (each.empty()) throw InvalidParameter("in_turn", "none", "one or more");
  return [each = std::move(each), next = std::size_t{0}]() mutable { each[next++ % each.size()](); };
}

Timing time_kernel(const kernels::GpuInfo& gpu, const ClockReader& clocks, const std::function<void()>& work,
                   const TimingOptions& options) {
  if (options.repetitions < 1 || options.repetitions > 100000) {
    throw InvalidParameter("repetitions", std::to_string(options.repetitions), "1..100000", "20");
  }
  if (options.inputs < 1 || options.inputs > kMaxInputs) {
    throw InvalidParameter("inputs", std::to_string(options.inputs), "1.." + std::to_string(kMaxInputs), "1");
  }
  using Clock = std::chrono::steady_clock;
  Clock::time_point launched = Clock::now();
  for (int i = 0; i < options.warm_up; ++i) {
    kernels::synchronize();
    launched = Clock::now();
    work();
  }
  kernels::synchronize();
  const std::chrono::duration<double> rest = options.rest * (Clock::now() - launched);
  const auto warm_at = Clock::now() + std::chrono::milliseconds(options.warm_up_ms);
  while (Clock::now() < warm_at) {
    for (int i = 0; i < kLaunchesAtOnce; ++i) work();
    kernels::synchronize();
  }
  Timing timing;
  timing.repetitions = options.repetitions;
  timing.inputs = options.inputs;
  timing.l2 = options.l2;
  timing.before = clocks.read();
  std::vector<float> milliseconds;
  Clock::time_point begin = Clock::now();
  if (options.l2 == L2State::kFlushed) {
    kernels::L2Flusher flusher(gpu);
    begin = Clock::now();
    milliseconds = kernels::time_with_events(work, options.repetitions, [&] {
      if (options.rest > 0) {
        kernels::synchronize();
        std::this_thread::sleep_for(rest);
      }
      flusher.start();
    });
  } else {
    milliseconds = kernels::time_with_events(work, options.repetitions);
  }
  const double passed_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  const double busy_ms = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0);
  timing.rest_ms = std::max(0.0, passed_ms - busy_ms) / options.repetitions;
  timing.after = clocks.read();
  timing.milliseconds = spread_of(std::vector<double>(milliseconds.begin(), milliseconds.end()));
  return timing;
}

}  // namespace natten_sim::validate

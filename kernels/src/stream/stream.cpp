#include <algorithm>
#include <string>

#include <natten_sim/kernels/stream/stream.hpp>

namespace natten_sim::kernels {

std::vector<KvOrder> stream_orders() { return {KvOrder::kCyclic, KvOrder::kSawtooth}; }

void require_valid(const StreamProblem& problem) {
  (void)parse_name_among(to_string(problem.order), stream_orders());
  if (problem.bytes < kStreamStepBytes || problem.bytes % kStreamStepBytes != 0) {
    throw InvalidParameter("bytes", std::to_string(problem.bytes),
                           "a positive multiple of " + std::to_string(kStreamStepBytes));
  }
  if (problem.passes < 1 || problem.passes > 1 << 20) {
    throw InvalidParameter("passes", std::to_string(problem.passes), "1..1048576");
  }
  if (problem.ctas < 1 || problem.ctas > 1 << 20) {
    throw InvalidParameter("ctas", std::to_string(problem.ctas), "1..1048576");
  }
  if (problem.step_cycles < 0 || problem.step_cycles > std::int64_t{1} << 30) {
    throw InvalidParameter("step_cycles", std::to_string(problem.step_cycles), "0..1073741824", "0");
  }
}

std::uint32_t stream_oracle(const StreamProblem& problem, const std::vector<std::uint32_t>& words) {
  std::uint32_t sum = 0;
  for (const std::uint32_t word : words) sum += word;
  return sum * static_cast<std::uint32_t>(problem.passes);
}

bool stream_sums_agree(const std::vector<std::uint32_t>& sums, std::uint32_t expected, std::int64_t readers) {
  const std::int64_t right = std::count(sums.begin(), sums.end(), expected);
  const std::int64_t idle = std::count(sums.begin(), sums.end(), 0u);
  const auto ctas = static_cast<std::int64_t>(sums.size());
  return expected == 0 ? right == ctas : right == readers && right + idle == ctas;
}

DeviceBuffer stream_delays(const std::vector<std::int32_t>& steps) {
  if (steps.empty()) throw InvalidParameter("delays", "none", "one an SM");
  for (const std::int32_t delay : steps) {
    if (delay < kStreamIdle || delay > 1 << 24)
      throw InvalidParameter("delays", std::to_string(delay), "-1..16777216 steps");
  }
  DeviceBuffer delays(steps.size() * sizeof(std::int32_t));
  delays.copy_from_host(steps.data(), delays.bytes());
  return delays;
}

}  // namespace natten_sim::kernels

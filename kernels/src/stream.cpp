#include <natten_sim/kernels/stream.hpp>

#include <string>

namespace natten_sim::kernels {

void require_valid(const StreamProblem& problem) {
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
}

std::uint32_t stream_oracle(const StreamProblem& problem, const std::vector<std::uint32_t>& words) {
  std::uint32_t sum = 0;
  for (const std::uint32_t word : words) sum += word;
  return sum * static_cast<std::uint32_t>(problem.passes);
}

}  // namespace natten_sim::kernels

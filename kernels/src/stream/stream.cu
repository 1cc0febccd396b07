// Stream: every CTA walks one buffer, cyclic or sawtooth, P passes.
//
// Variants: passes, CTAs, order, pace (full speed, or a least number of cycles a step), delays of SMs.
// Floor at full speed: ctas * passes * bytes through the SMs' L2 ports of 64 bytes a cycle, 4.2 ms for 132
// CTAs, 64 MiB and 8 passes at 1.98 GHz. Measured on an H200: 6.4 ms on random data (1.5 times the
// floor), 4.1 ms on a constant.
#include <natten_sim/kernels/stream/stream.hpp>

#include "gpu/kernel_limits.cuh"
#include "gpu/sm_number.cuh"

namespace natten_sim::kernels {
namespace {

constexpr int kThreads = 1024;
static_assert(kStreamStepBytes == kThreads * sizeof(uint4));

/// An idle CTA stays until every SM has its CTA: an SM that came free at once might get a second one.
constexpr long long kIdleCycles = 100000;

/// Steps that this SM starts late.
struct Delays {
  const std::int32_t* steps;  ///< null: none
  unsigned sms;

  __device__ __forceinline__ std::int32_t here() const {
    if (steps == nullptr) return 0;
    const unsigned sm = sm_number();
    return sm < sms ? steps[sm] : kStreamIdle;
  }
};

/// Loads past L1.
__device__ __forceinline__ void add(std::uint32_t& sum, const uint4* source) {
  const uint4 words = __ldcg(source);
  sum += words.x + words.y + words.z + words.w;
}

__global__ void __launch_bounds__(kThreads)
    stream_kernel(const uint4* __restrict__ buffer, std::int64_t steps, int passes, bool sawtooth,
                  long long step_cycles, Delays delays, std::uint32_t* sums) {
  std::uint32_t sum = 0;
  long long due = clock64();
  const std::int32_t delay = delays.here();
  if (delay < 0) {
    while (clock64() < due + kIdleCycles) {
    }
    passes = 0;
  } else {
    due += delay * step_cycles;
  }
  for (int pass = 0; pass < passes; ++pass) {
    const bool descending = sawtooth && (pass & 1) != 0;
    const uint4* next = buffer + threadIdx.x + (descending ? (steps - 1) * kThreads : 0);
    const std::int64_t stride = descending ? -kThreads : kThreads;
    if (step_cycles == 0) {
#pragma unroll 4
      for (std::int64_t step = 0; step < steps; ++step, next += stride) add(sum, next);
    } else {
      for (std::int64_t step = 0; step < steps; ++step, next += stride, due += step_cycles) {
        while (clock64() < due) {
        }
        add(sum, next);
        __syncthreads();
      }
    }
  }
  __shared__ std::uint32_t total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

/// More than half of an SM's, so that an SM has one CTA, and each its own.
std::size_t most_of_shared_memory() {
  int gpu = 0;
  NATTEN_SIM_CUDA_CHECK(cudaGetDevice(&gpu));
  allow_all_shared_memory(reinterpret_cast<const void*>(stream_kernel), gpu);
  return static_cast<std::size_t>(shared_memory_limits(gpu).per_block) / 10 * 9;
}

}  // namespace

void launch_stream(const StreamProblem& problem, const DeviceBuffer& buffer, DeviceBuffer& sums,
                   const DeviceBuffer* delays) {
  require_valid(problem);
  if (delays != nullptr && problem.step_cycles == 0)
    throw InvalidParameter("step_cycles", "0", "1 or more where SMs have delays");
  if (buffer.bytes() < static_cast<std::size_t>(problem.bytes) ||
      sums.bytes() < static_cast<std::size_t>(problem.ctas) * sizeof(std::uint32_t)) {
    throw InvalidParameter("buffer", std::to_string(buffer.bytes()),
                           "at least the problem's bytes, and a word a CTA for the sums");
  }
  Delays of_sms{nullptr, 0};
  std::size_t shared_bytes = 0;
  if (delays != nullptr) {
    shared_bytes = most_of_shared_memory();
    of_sms = {static_cast<const std::int32_t*>(delays->data()),
              static_cast<unsigned>(delays->bytes() / sizeof(std::int32_t))};
  }
  stream_kernel<<<problem.ctas, kThreads, shared_bytes>>>(
      static_cast<const uint4*>(buffer.data()), problem.bytes / kStreamStepBytes, problem.passes,
      problem.order == KvOrder::kSawtooth, problem.step_cycles, of_sms,
      static_cast<std::uint32_t*>(sums.data()));
  NATTEN_SIM_CUDA_CHECK(cudaGetLastError());
}

}  // namespace natten_sim::kernels

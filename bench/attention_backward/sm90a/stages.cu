// What racecheck makes of the backward's stages, without attention: a loader fills one stage of shared memory
// again and again by bulk copies; warps read it and give it back through an mbarrier.
//
//   compute-sanitizer --tool racecheck attention_backward_bench stages 0   every reading thread arrives
//   compute-sanitizer --tool racecheck attention_backward_bench stages 1   a named barrier, then one lane arrives
//   compute-sanitizer --tool racecheck attention_backward_bench stages 2   nobody is waited for: a race
//
// 0 and 1 are both ordered: reads come before an arrival, directly or through the named barrier, and the loader
// copies after it has seen the arrivals. A tool that follows both reports nothing for either; 2 is wrong and
// shows that it looks. The sums say what the kernel itself saw.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#include "../timing.hpp"

namespace natten_sim::bench {
namespace {

constexpr int kReaders = 64, kWords = 64, kRounds = 8;

__device__ __forceinline__ unsigned at(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}
__device__ __forceinline__ void wait(std::uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{.reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;}" ::"r"(at(barrier)),
      "r"(parity)
      : "memory");
}

/// `from`: kRounds times kWords words. A reader adds its word of each round.
__global__ void stage_kernel(const unsigned* from, unsigned* sums, int how) {
  __shared__ alignas(128) unsigned stage[kWords];
  __shared__ std::uint64_t full, empty;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&full)));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(&empty)), "r"(how == 0 ? kReaders : 1));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= kReaders) {
    if (threadIdx.x != kReaders) return;
    for (int round = 0; round < kRounds; ++round) {
      if (how != 2) wait(&empty, round & 1 ^ 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&full)), "n"(kWords * 4)
                   : "memory");
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
              at(stage)),
          "l"(from + round * kWords), "n"(kWords * 4), "r"(at(&full))
          : "memory");
      if (how == 2) wait(&full, round & 1);
    }
    return;
  }
  unsigned sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    wait(&full, round & 1);
    sum += stage[threadIdx.x];
    if (how == 0) {
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(&empty)) : "memory");
    } else if (how == 1) {
      asm volatile("bar.sync 1, %0;" ::"n"(kReaders) : "memory");
      if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(&empty)) : "memory");
      }
    }
  }
  sums[threadIdx.x] = sum;
}

}  // namespace

bool run_stages(int how) {
  std::vector<unsigned> words(kRounds * kWords);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<unsigned>(i * i);
  kernels::DeviceBuffer from(words.size() * 4), sums(kReaders * 4);
  from.copy_from_host(words.data(), words.size() * 4);
  stage_kernel<<<1, kReaders + 32>>>(static_cast<const unsigned*>(from.data()),
                                     static_cast<unsigned*>(sums.data()), how);
  kernels::synchronize();
  std::vector<unsigned> found(kReaders);
  sums.copy_to_host(found.data(), found.size() * 4);
  int wrong = 0;
  for (int i = 0; i < kReaders; ++i) {
    unsigned sum = 0;
    for (int round = 0; round < kRounds; ++round) sum += words[static_cast<std::size_t>(round * kWords + i)];
    wrong += sum != found[static_cast<std::size_t>(i)];
  }
  std::printf("stages %d: %d of %d sums wrong\n", how, wrong, kReaders);
  return wrong == 0;
}

}  // namespace natten_sim::bench

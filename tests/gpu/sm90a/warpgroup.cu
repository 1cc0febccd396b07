// Compiled for sm_90a alone: ptxas refuses these instructions for every other target.
#include "gpu/sm90a/warpgroup.hpp"

namespace {

__global__ void __launch_bounds__(128, 1) warpgroup_kernel(int* out) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  if (threadIdx.x == 0) *out = 90;
}

}  // namespace

void launch_warpgroup(int* out) { warpgroup_kernel<<<1, 128>>>(out); }

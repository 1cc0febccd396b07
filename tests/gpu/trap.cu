#include "trap.hpp"

namespace {
__global__ void trap_kernel() { __trap(); }
}  // namespace

void launch_trap() { trap_kernel<<<1, 1>>>(); }

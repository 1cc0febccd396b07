// The instructions of sm_90 that the backward needs beyond the forward's: bulk copies of plain memory, bulk
// reductions, and what orders them between CTAs. One function an instruction, no policy.
#pragma once

#include "attention_forward/ptx.cuh"

namespace natten_sim::kernels::attention_backward {

using namespace attention_forward;  // its instructions

/// Global to shared memory; a multiple of 16 bytes.
__device__ __forceinline__ void bulk_load(std::uint32_t target, const void* source, std::uint32_t bytes,
                                          std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(target),
      "l"(source), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}
/// Into the L2, for a load that comes later.
__device__ __forceinline__ void prefetch_box(const CUtensorMap* map, const BoxOrigin& at) {
  asm volatile("cp.async.bulk.prefetch.tensor.5d.L2.global.tile [%0, {%1, %2, %3, %4, %5}];" ::"l"(map),
               "r"(at.c0), "r"(at.c1), "r"(at.c2), "r"(at.c3), "r"(at.c4)
               : "memory");
}
__device__ __forceinline__ void bulk_store(float* target, std::uint32_t source, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(target), "r"(source),
               "r"(bytes)
               : "memory");
}
/// Adds fp32 elements: one addition each, no order among those of one instruction.
__device__ __forceinline__ void bulk_add(float* target, std::uint32_t source, std::uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(target),
               "r"(source), "r"(bytes)
               : "memory");
}
/// Until bulk stores and additions have been made in global memory, not merely read from shared memory.
__device__ __forceinline__ void bulk_wait_complete() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Whether the phase is over: asked now, for barrier_wait_unless later. The answer takes 60 cycles.
__device__ __forceinline__ std::uint32_t barrier_ask(std::uint64_t* barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  asm volatile(
      "{.reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;}"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done;
}
__device__ __forceinline__ void barrier_wait_unless(std::uint32_t done, std::uint64_t* barrier,
                                                    std::uint32_t parity) {
  asm volatile(
      "{.reg .pred over, stuck;\n"
      ".reg .u32 tries;\n"
      "setp.ne.u32 over, %3, 0;\n"
      "@over bra passed;\n"
      "mov.u32 tries, 0;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@over bra passed;\n"
      "add.u32 tries, tries, 1;\n"
      "setp.ge.u32 stuck, tries, %2;\n"
      "@stuck trap;\n"
      "bra again;\n"
      "passed:}" ::"r"(shared_address(barrier)),
      "r"(parity), "n"(kMaxBarrierTries), "r"(done)
      : "memory");
}

/// Until all three phases are over: their tests are in flight together.
__device__ __forceinline__ void barriers_wait(std::uint64_t* first, std::uint32_t first_parity,
                                             std::uint64_t* second, std::uint32_t second_parity,
                                             std::uint64_t* third, std::uint32_t third_parity) {
  asm volatile(
      "{.reg .pred a, b, c, stuck;\n"
      ".reg .u32 tries;\n"
      "mov.u32 tries, 0;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 a, [%0], %1;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 b, [%2], %3;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 c, [%4], %5;\n"
      "and.pred a, a, b;\n"
      "and.pred a, a, c;\n"
      "@a bra passed;\n"
      "add.u32 tries, tries, 1;\n"
      "setp.ge.u32 stuck, tries, %6;\n"
      "@stuck trap;\n"
      "bra again;\n"
      "passed:}" ::"r"(shared_address(first)),
      "r"(first_parity), "r"(shared_address(second)), "r"(second_parity), "r"(shared_address(third)),
      "r"(third_parity), "n"(kMaxBarrierTries)
      : "memory");
}

/// Orders what this thread has seen, or bulk operations have completed, before its later bulk operations.
__device__ __forceinline__ void fence_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// As store_matrices, but each 8x8 matrix is transposed on the way: lane l gives the address of column l % 8
/// of matrix l / 8.
__device__ __forceinline__ void store_matrices_transposed(std::uint32_t address, std::uint32_t a,
                                                          std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

}  // namespace natten_sim::kernels::attention_backward

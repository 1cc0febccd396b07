// The instructions of sm_90a that C++ has no words for: mbarriers, bulk tensor copies (TMA), named barriers,
// wgmma's fences and descriptors, register reallocation. One function an instruction, no policy.
#pragma once

#include <cstdint>

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace natten_sim::kernels::attention_forward {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// --- mbarriers ------------------------------------------------------------------------------------------

/// A wait that lasts longer than this many tries (each sleeps up to about a microsecond) is a deadlock: the
/// kernel traps instead of holding the GPU.
inline constexpr int kMaxBarrierTries = 1 << 22;

__device__ __forceinline__ void barrier_init(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ __forceinline__ void barrier_arrive_expect(std::uint64_t* barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

/// Whether the phase is over, without waiting.
__device__ __forceinline__ bool barrier_test(std::uint64_t* barrier, std::uint32_t parity) {
  std::uint32_t done = 0;
  asm volatile(
      "{.reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;}"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

/// The loop is one statement: as a C++ loop it makes ptxas run out of registers and serialise wgmma.
__device__ __forceinline__ void barrier_wait(std::uint64_t* barrier, std::uint32_t parity) {
  asm volatile(
      "{.reg .pred done, stuck;\n"
      ".reg .u32 tries;\n"
      "mov.u32 tries, 0;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra passed;\n"
      "add.u32 tries, tries, 1;\n"
      "setp.ge.u32 stuck, tries, %2;\n"
      "@stuck trap;\n"
      "bra again;\n"
      "passed:}" ::"r"(shared_address(barrier)),
      "r"(parity), "n"(kMaxBarrierTries)
      : "memory");
}

// --- bulk tensor copies ---------------------------------------------------------------------------------

struct BoxOrigin {
  int c0, c1, c2, c3, c4;  // elements, innermost first
};

__device__ __forceinline__ void load_box(std::uint32_t target, const CUtensorMap* map, std::uint64_t* barrier,
                                         const BoxOrigin& at) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
      "%6, %7}], "
      "[%2];" ::"r"(target),
      "l"(map), "r"(shared_address(barrier)), "r"(at.c0), "r"(at.c1), "r"(at.c2), "r"(at.c3), "r"(at.c4)
      : "memory");
}

/// Elements outside of the tensor are left out.
__device__ __forceinline__ void store_box(const CUtensorMap* map, std::uint32_t source, const BoxOrigin& at) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
      "r"(source), "r"(at.c0), "r"(at.c1), "r"(at.c2), "r"(at.c3), "r"(at.c4)
      : "memory");
}

__device__ __forceinline__ void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// Until shared memory may be written again.
__device__ __forceinline__ void store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Ordinary stores to shared memory become visible to TMA and wgmma.
__device__ __forceinline__ void fence_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// --- warpgroups -----------------------------------------------------------------------------------------

__device__ __forceinline__ void named_sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// --- wgmma ----------------------------------------------------------------------------------------------

__device__ __forceinline__ void product_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void product_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Until at most kPending committed groups are unfinished.
template <int kPending>
__device__ __forceinline__ void product_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// Keeps the compiler from moving reads or writes of accumulators over this point.
template <int kCount>
__device__ __forceinline__ void pin(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

/// wgmma's descriptor of a shared-memory operand as TMA writes it: rows of kRowBytes (128 or 64) with the
/// swizzle of that width, eight rows an atom. Its low word holds the address, in 16 bytes, and
/// `column_stride`: bytes from one box to the next, for operands whose rows run along the product's inner
/// dimension (V); K-major operands (Q, K) ignore it. Moving an operand by n bytes adds n / 16 to the low
/// word.
__device__ __forceinline__ std::uint32_t operand_low(std::uint32_t address, std::uint32_t column_stride) {
  return address >> 4 | (column_stride >> 4) << 16;
}
template <int kRowBytes>
__device__ __forceinline__ std::uint64_t operand(std::uint32_t low) {
  static_assert(kRowBytes == 128 || kRowBytes == 64);
  constexpr std::uint32_t kHigh = (8 * kRowBytes >> 4) | (kRowBytes == 128 ? 1u : 2u) << 30;
  return static_cast<std::uint64_t>(kHigh) << 32 | low;
}
/// The same of an operand that ordinary stores wrote, without a swizzle: matrices of eight rows of 16 bytes,
/// the next 16 bytes of the rows in the matrix after it, the next rows in the one after that.
__device__ __forceinline__ std::uint64_t plain_operand(std::uint32_t address) {
  return static_cast<std::uint64_t>(256 >> 4) << 32 | operand_low(address, 128);
}

// --- global memory that other CTAs read ------------------------------------------------------------------

__device__ __forceinline__ void write_quad(float* to, float a, float b, float c, float d) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
}
/// Past the L1, which does not see what other SMs write.
__device__ __forceinline__ float4 read_quad(const float* from) {
  float4 read{};
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(read.x), "=f"(read.y), "=f"(read.z), "=f"(read.w)
               : "l"(from)
               : "memory");
  return read;
}

// --- numbers --------------------------------------------------------------------------------------------

__device__ __forceinline__ float exp2_approx(float x) {
  float y = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <typename Element>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  std::uint32_t packed = 0;
  if constexpr (sizeof(Element) == 2 && __is_same(Element, __nv_bfloat16)) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  }
  return packed;
}

/// Four 8x8 matrices of 16-bit elements from the accumulator layout to rows of 16 bytes; lane l gives the
/// address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices(std::uint32_t address, std::uint32_t a, std::uint32_t b,
                                               std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}

}  // namespace natten_sim::kernels::attention_forward

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/core/kv_order.hpp>

namespace natten_sim::kernels {

/// Every CTA reads a whole buffer `passes` times, ascending each time or ascending and descending in turn:
/// the reuse pattern of K and V in attention, and nothing else. Loads bypass L1.
///
/// A paced stream starts each step of a CTA no earlier than `step_cycles` SM cycles after the previous step
/// was due, as if the CTA computed that long on each step. CTAs then stay in step. At full speed (0) they do
/// not: SMs get different shares of the L2's bandwidth. In a sawtooth, a CTA that is ahead and turns around
/// then finds data that slower CTAs have kept in the cache.
///
/// A paced stream may have a delay for each SM: its CTA starts so many steps late and stays behind the
/// others, or reads nothing. Each CTA then has an SM of its own.
///
/// Floor: ctas * passes * bytes through the L2, passes * bytes (cyclic) from DRAM once the buffer exceeds
/// what the L2 keeps for all SMs.

/// Orders that the kernel walks.
[[nodiscard]] std::vector<KvOrder> stream_orders();

struct StreamProblem {
  std::int64_t bytes = 0;  ///< a multiple of kStreamStepBytes
  int passes = 1;
  int ctas = 1;
  KvOrder order = KvOrder::kCyclic;
  std::int64_t step_cycles = 0;  ///< 0: full speed
};

/// What one CTA of 1024 threads reads in one step.
inline constexpr std::int64_t kStreamStepBytes = 1024 * 16;

/// @throws InvalidParameter on bytes that are no positive multiple of a step, passes or ctas outside 1..2^20,
/// step_cycles outside 0..2^30.
void require_valid(const StreamProblem& problem);

/// Delay of an SM whose CTA reads nothing; its sum is 0.
inline constexpr std::int32_t kStreamIdle = -1;

/// Delays in steps, one an SM by its number (%smid), on the GPU. Waits. @throws InvalidParameter on none, or
/// one outside -1..2^24.
[[nodiscard]] DeviceBuffer stream_delays(const std::vector<std::int32_t>& steps);

/// Starts the kernel; `sums` receives ctas 32-bit words: the sum of all words that the CTA read, mod 2^32.
/// `delays` comes from `stream_delays` or is null; SMs beyond its end are idle. @throws InvalidParameter also
/// on delays of a stream at full speed.
void launch_stream(const StreamProblem& problem, const DeviceBuffer& buffer, DeviceBuffer& sums,
                   const DeviceBuffer* delays = nullptr);

/// The sum that each reading CTA must have. O(words).
[[nodiscard]] std::uint32_t stream_oracle(const StreamProblem& problem,
                                          const std::vector<std::uint32_t>& words);

/// Whether `readers` of the CTAs summed `expected`, and the others 0.
[[nodiscard]] bool stream_sums_agree(const std::vector<std::uint32_t>& sums, std::uint32_t expected,
                                     std::int64_t readers);

}  // namespace natten_sim::kernels

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <natten_sim/core/backward_kernel.hpp>
#include <natten_sim/core/schedule_costs.hpp>
#include <natten_sim/search/schedules/schedule_plan.hpp>

namespace natten_sim {

/// How the kernels of the catalog (core/backward_kernel.hpp) run a call.

/// One call, as its user sees it.
struct BackwardCall {
  MaskClass mask = MaskClass::kFull;
  std::int64_t batch = 1, heads = 1, heads_kv = 1;
  std::int64_t q_tokens = 1, kv_tokens = 1;
  std::int64_t head_dim = 128;
  std::int64_t element_bytes = 2;
  std::int32_t sms = 1;
  std::optional<std::int64_t> l2_bytes;  ///< none: not known
};

/// How a kernel runs its chains, in the terms of `schedule`.
struct BackwardLaunch {
  std::string algorithm;
  Dispatch dispatch = Dispatch::kDynamic;
  TileWalk walk = TileWalk::kInOrder;
  KernelMemory memory = KernelMemory::kOneDq;
  HeadSections sections;                        ///< of no head: as the algorithm has it
  std::optional<std::int32_t> heads_in_flight;  ///< of a search
  std::string launch_order;                     ///< in words
  std::string dq_order;                         ///< in words
  /// Beside inputs and gradients, without the padding of tiles: fp32 dQ or dP, fp32 dK and dV of grouped
  /// heads, counters of turns.
  std::int64_t workspace_bytes = 0;
};

/// None: the kernel has no launch in this mode. @throws Overflow for a workspace beyond 2^63 bytes.
[[nodiscard]] std::optional<BackwardLaunch> kernel_launch(const BackwardKernel& kernel,
                                                          const BackwardCall& call, ReductionMode mode);

/// Costs of a task as this problem's chains have them. In an order, reductions pay their turn and chains their
/// end, the prologue of chains that are drawn has the draw, in the mean over all chains, and compute grows with
/// `missing`: the share of reads that miss the L2, 0 to 1.
[[nodiscard]] BackwardCosts chain_costs(const ScheduleCostSet& costs, const TaskCosts& tasks,
                                        const BlockMask& mask, Dispatch dispatch, ReductionMode mode,
                                        double missing = 0);

/// Share of an ordered launch's reads of Q, dO and fp32 dQ that miss an L2 of which `l2_kept` keeps them, 0 to 1.
/// Chains that start spread in sections of so many heads read a tile again after all tiles of the section. In
/// other walks chains of a head read together, and where the algorithm chooses sections (no heads) it keeps starts
/// close: nothing misses. 0 for an unknown L2.
[[nodiscard]] double missing_reads(double l2_kept, const BackwardCall& call, TileWalk walk,
                                   const HeadSections& sections);

/// Microseconds of a call whose main kernel takes `makespan_us`: the launch, the kernels around, and what
/// power adds to long runs.
[[nodiscard]] double call_us(const ScheduleCostSet& costs, const BackwardKernel& kernel,
                             const BackwardCall& call, ReductionMode mode, double makespan_us);

namespace schedules {

/// The largest power of two of heads whose Q, dO and fp32 dQ fit into `bytes` of L2; at least 1.
[[nodiscard]] HeadSections sections_within(std::int64_t bytes, const BackwardCall& call);

/// Heads whose Q, dO and fp32 dQ fit into `bytes` of L2 together. At least as many as keep the workers busy
/// from one head to the next, with so many chains a head. K and V of a chain are read once and do not count.
[[nodiscard]] std::int32_t heads_within(std::int64_t bytes, const BackwardCall& call, std::int64_t workers,
                                        std::int64_t chains_of_head);

/// CTAs of each head, where a kernel fills the SMs with them and each walks several KV tiles.
[[nodiscard]] std::int64_t ctas_of_head(const BackwardCall& call);

/// Bytes of the kernels around a main kernel that adds to an fp32 dQ: O and dO are read, dQ is cleared, read
/// and written; with grouped heads dK and dV take the same way.
[[nodiscard]] double bytes_around(const BackwardCall& call);

/// Moved by the kernels before and after the main one: dO * O, clearing and converting the fp32 dQ.
[[nodiscard]] double other_bytes(const BackwardKernel& kernel, const BackwardCall& call, ReductionMode mode);

}  // namespace schedules
}  // namespace natten_sim

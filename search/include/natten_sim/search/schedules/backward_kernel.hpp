#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/schedule_costs.hpp>
#include <natten_sim/search/schedules/schedule_plan.hpp>

namespace natten_sim {

/// Attention backward kernels that people run: which tiles they take, how they launch and in which order they
/// add to dQ. Each is one file in search/src/schedules/kernels/: fa4.cpp defines
/// `BackwardKernel natten_sim::schedules::fa4_kernel()` and needs no other edit. What the tasks cost on a
/// device is data (data/schedule-costs/).

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

enum class ReductionMode { kDeterministic, kUnordered };

struct TileTokens {
  std::int64_t q = 0, kv = 0;
};

/// How a kernel runs its chains, in the terms of `schedule`.
struct BackwardLaunch {
  std::string algorithm;
  Dispatch dispatch = Dispatch::kDynamic;
  TileWalk walk = TileWalk::kInOrder;
  HeadSections sections;  ///< of no head: as the algorithm has it
  std::optional<std::int32_t> heads_in_flight;  ///< of a search
  std::string launch_order;  ///< in words
  std::string dq_order;      ///< in words
};

struct BackwardKernel {
  std::string name;    ///< as --kernel takes it
  std::string title;   ///< for help
  int position = 0;    ///< place in lists, ascending; ties by name
  std::string source;  ///< where its tiles and orders were read
  /// None: it has no kernel for this head dim.
  std::optional<TileTokens> (*tiles)(std::int64_t head_dim, MaskClass mask) = nullptr;
  BackwardLaunch (*launch)(const BackwardCall& call, ReductionMode mode) = nullptr;
  /// Moved by the kernels before and after the main one: dO * O, clearing and converting the fp32 dQ.
  double (*other_bytes)(const BackwardCall& call, ReductionMode mode) = nullptr;
  /// Cleared apart from these; null: nothing.
  double (*cleared_bytes)(const BackwardCall& call, ReductionMode mode) = nullptr;
};

/// Costs of a task as this problem's chains have them: the prologue of chains that are drawn has the draw, in
/// the mean over all chains.
[[nodiscard]] BackwardCosts chain_costs(const ScheduleCostSet& costs, const TaskCosts& tasks,
                                        const BlockMask& mask, Dispatch dispatch);

/// Microseconds of a call whose main kernel takes `makespan_us`: the launch, the kernels around, and what
/// power adds to long runs.
[[nodiscard]] double call_us(const ScheduleCostSet& costs, const BackwardKernel& kernel,
                             const BackwardCall& call, ReductionMode mode, double makespan_us);

/// In the order of their positions.
[[nodiscard]] const std::vector<BackwardKernel>& backward_kernels();

/// @throws UnknownName with the closest name.
[[nodiscard]] const BackwardKernel& backward_kernel(std::string_view name);

namespace schedules {

/// The largest power of two of heads whose Q, dO and fp32 dQ fit into `bytes` of L2; at least 1.
[[nodiscard]] HeadSections sections_within(std::int64_t bytes, const BackwardCall& call);

/// Heads whose Q, dO and fp32 dQ fit into `bytes` of L2 together. At least as many as keep the workers busy
/// from one head to the next, with so many chains a head. K and V of a chain are read once and do not count.
[[nodiscard]] std::int32_t heads_within(std::int64_t bytes, const BackwardCall& call, std::int64_t workers,
                                        std::int64_t chains_of_head);

/// Bytes of the kernels around a main kernel that adds to an fp32 dQ: O and dO are read, dQ is cleared, read
/// and written; with grouped heads dK and dV take the same way.
[[nodiscard]] double bytes_around(const BackwardCall& call);

}  // namespace schedules
}  // namespace natten_sim

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/models/schedule_bounds.hpp>
#include <natten_sim/sim/schedule_run.hpp>

namespace natten_sim {

/// Heads are launched in sections. Inside a section KV tiles advance slowest and heads fastest, as
/// FlashAttention-3 launches its causal backward; a section of one head is head by head.
struct LaunchOrder {
  std::int32_t heads_per_section = 1;
};

/// What an algorithm may look at. Not every algorithm heeds all of it.
struct ScheduleRequest {
  BackwardProblem problem;
  BackwardCosts costs;
  std::optional<Dispatch> dispatch;   ///< none: the algorithm's own
  std::optional<LaunchOrder> launch;  ///< none: the algorithm's own
  /// Iterations of `best`, 0 or more (0: constructions alone). None: 2^22 / tasks, between 8 and 2000.
  std::optional<std::int64_t> effort;
  std::uint64_t seed = 1;  ///< of `best`
  std::function<void(double)> progress = {};
};

/// Phases run one after the other, a barrier between them; all but fa2-split and two-pass have one. What a
/// phase's chains and tasks stand for is said by the algorithm that makes it.
struct SchedulePhase {
  std::string name;
  BackwardProblem problem;
  BackwardCosts costs;
  BackwardSchedule schedule;
};

struct SchedulePlan {
  std::vector<SchedulePhase> phases;
  /// How work reaches workers. fa2-split dispatches CTAs of several chains dynamically, which its phase,
  /// being made of chains, can only hold as the static schedule that results.
  Dispatch dispatch = Dispatch::kDynamic;
  /// Set by `best` when it has searched every schedule: none finishes earlier.
  std::optional<double> exhausted_at;
};

/// Schedules of named algorithms. KV tile j, Q tile i; static dispatch puts the launch position modulo
/// workers, but for symmetric-shift and best. Unless said otherwise chains launch head by head, KV tile 0
/// first.
///
/// - ascending: Q ascending, dQ by ascending KV, dynamic (FlashAttention-3 until September 2025).
/// - descending: Q descending, dQ by ascending KV, dynamic (DASH 3.3).
/// - spt: KV tiles launched last first, Q ascending, dQ by descending KV, dynamic (FlashAttention-3 since).
/// - shift: Q from the first attended i >= j mod Q tiles on, cyclically; dQ by visiting time, ties by launch
///   position; static (DASH 3.4).
/// - symmetric-shift: see schedules/symmetric_shift.cpp; dQ as shift; static (DASH 3.4, any parity and
/// workers).
/// - fa2-split: a dQ buffer for each of ceil(workers / heads) CTAs a head, then a sum (FlashAttention-2).
/// - two-pass: dK/dV, then dQ, each computing S and dP again (Triton's tutorial).
/// - unordered: atomics in any order, not deterministic: the reference point.
/// - best: searched; never later than the best ordered one, which are the first five.
///
/// `best` tries every ordered algorithm above in both dispatches, then list schedules in several launch
/// orders, then as many random restarts and local changes as `effort` says, and, up to 32 tasks, branch and
/// bound of 500 nodes an iteration, which may cover every schedule. It stops when the lower bound is met. The
/// same request gives the same plan. With dynamic dispatch requested, a searched schedule counts as it runs
/// when dispatched dynamically.
///
/// @throws InvalidParameter when the algorithm cannot schedule the problem (symmetric-shift: masks that are
/// not
///         causal with tiles of whole multiples), when the problem has more than 2^27 tasks, or on invalid
///         costs.
[[nodiscard]] SchedulePlan plan_backward(BackwardAlgorithm algorithm, const ScheduleRequest& request);

/// Ordered algorithms give the same dQ bits in every run without further passes; `best` competes with them.
[[nodiscard]] bool is_ordered(BackwardAlgorithm algorithm) noexcept;

/// Costs counted in parts of their unit: whole numbers, `parts` times the given ones.
struct WholeCosts {
  BackwardCosts costs;
  double parts = 1;
};

/// Decimal costs (0.3) are not exact in binary, so that ties turn on the last bit, and with them dynamic
/// dispatch and visiting times. Costs of up to nine decimals become whole numbers here, in which all sums are
/// exact, also the fifths of two-pass; times found with them are divided by `parts`. Costs that are no such
/// decimals, or whose sums would pass 2^53, come back as they are, or without the fifths.
[[nodiscard]] WholeCosts whole_costs(const BackwardProblem& problem, const BackwardCosts& costs);

struct PlanRun {
  double makespan = 0;
  double total_work = 0;
  ScheduleBubble bubble;
  /// Of the time of all workers, the share spent computing, and reducing when that is serial; none when the
  /// makespan is 0.
  std::optional<double> utilization;
  /// Sum over phases of the best bound of each; equal to the makespan when exhausted.
  double lower_bound = 0;
  std::optional<BindingBound> binding;  ///< of the only phase; none when exhausted or of several
  double optimality_gap = 0;            ///< makespan / lower_bound - 1
  std::vector<ScheduleRun> runs;        ///< one a phase
};

/// Simulates every phase. @throws DeadlockError, InvalidParameter.
[[nodiscard]] PlanRun run_plan(const SchedulePlan& plan, RecordTimes record = RecordTimes::kNo);

}  // namespace natten_sim

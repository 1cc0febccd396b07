#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/models/schedules/schedule_bounds.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

namespace natten_sim {

/// Heads are launched in sections. Inside a section KV tiles advance slowest and heads fastest, as
/// FlashAttention-3 launches its causal backward; a section of one head is head by head.
struct HeadSections {
  std::int32_t heads_per_section = 1;
};

/// Where a search stood when it was left.
struct SearchStanding {
  std::int64_t iterations = 0;  ///< that it has done
  BackwardSchedule best;        ///< the earliest that it has found
};

/// The input of an algorithm. Not every algorithm uses all of it.
struct ScheduleRequest {
  BackwardProblem problem;
  BackwardCosts costs;
  std::optional<Dispatch> dispatch;    ///< none: the algorithm's own
  std::optional<HeadSections> launch;  ///< none: the algorithm's own
  /// Partial first: of ascending, descending, spt, unordered and two-pass. Spread: of shift. The others choose
  /// their own Q orders.
  TileWalk walk = TileWalk::kInOrder;
  /// Iterations of a search, 0 or more (0: constructions alone). None: 2^22 / tasks, between 8 and 2000.
  std::optional<std::int64_t> effort;
  std::uint64_t seed = 1;  ///< of a search
  /// Of a search: goes on until its result is proved or so many seconds have passed, whatever the effort. How
  /// far it comes then depends on the machine.
  std::optional<double> time_limit_s;
  /// Of a search: at most so many heads at work at a time (`heads_in_flight`), so that their Q, dO and dQ
  /// stay in the L2 cache. Where no schedule keeps it, one with the fewest beyond. None: as many as it likes.
  std::optional<std::int32_t> heads_in_flight;
  std::function<void(double)> progress = {};
  /// Of a search: it goes on from here, with the iterations that are left of its effort. What it finds is
  /// never later than this, and may differ from what one run finds.
  std::optional<SearchStanding> start = {};
  /// Of a search: called with its iterations and the best so far, before the first one, now and then, and
  /// behind the last.
  std::function<void(std::int64_t, const BackwardSchedule&)> standing = {};
};

/// Phases run one after the other, with a barrier between them; most algorithms have one. The algorithm says
/// what a phase's chains and tasks stand for.
struct SchedulePhase {
  std::string name;
  BackwardProblem problem;
  BackwardCosts costs;
  BackwardSchedule schedule;
};

/// Where dK and dV of heads that share a KV head are added up.
enum class DkvMemory { kOneAKvHead, kOneAQueryHead };

/// What a plan's kernels keep beside inputs and gradients.
struct PlanMemory {
  std::int64_t dq_buffers = 1;  ///< fp32 copies of dQ that chains add to; 0: dQ has a pass of its own
  DkvMemory dkv = DkvMemory::kOneAKvHead;
  bool dq_counters = false;   ///< of turns, one a dQ tile
  bool dkv_counters = false;  ///< the same of dK/dV that heads share
};

struct SchedulePlan {
  std::vector<SchedulePhase> phases;
  PlanMemory memory;
  /// How work reaches workers. fa2-split dispatches CTAs of several chains dynamically. Its phase is made of
  /// chains, so it can only hold the static schedule that results.
  Dispatch dispatch = Dispatch::kDynamic;
  /// Set by a search that has covered every schedule: none finishes earlier.
  std::optional<double> exhausted_at;
};

struct PlanRun {
  double makespan = 0;
  double total_work = 0;
  ScheduleBubble bubble;
  /// Share of the time of all workers that is spent computing, and reducing when that is serial. Empty when
  /// the makespan is 0.
  std::optional<double> utilization;
  /// Sum over phases of the best bound of each; equal to the makespan when exhausted.
  double lower_bound = 0;
  /// Bound of the only phase; absent when exhausted or with several phases.
  std::optional<BindingBound> binding;
  double optimality_gap = 0;         ///< makespan / lower_bound - 1
  std::int32_t heads_in_flight = 0;  ///< the most heads at work at a time, in any phase
  std::vector<ScheduleRun> runs;     ///< one a phase
};

/// Simulates every phase; a deadlock of one is the answer. O(tasks log workers). @throws InvalidParameter.
[[nodiscard]] std::variant<PlanRun, Deadlock> attempt_run(const SchedulePlan& plan,
                                                          RecordTimes record = RecordTimes::kNo);

/// The same for plans that are known to finish. @throws DeadlockError, InvalidParameter.
[[nodiscard]] PlanRun run_plan(const SchedulePlan& plan, RecordTimes record = RecordTimes::kNo);

/// A plan of one phase with the request's problem and costs.
[[nodiscard]] SchedulePlan one_phase(const ScheduleRequest& request, BackwardSchedule schedule);

/// Bytes that making and running one schedule of the problem takes at its peak, of most algorithms within a factor
/// of 1.6: what glibc's allocator gives to the vectors of chains, of dQ orders and of the run. The lists of the mask
/// are made once for all heads.
[[nodiscard]] std::int64_t schedule_bytes(const BackwardProblem& problem);

/// Schedules that would take more are refused before they are made: 4 GiB.
inline constexpr std::int64_t kMaxScheduleBytes = std::int64_t{1} << 32;

/// @throws InvalidParameter on an invalid problem, more than 2^27 tasks or kMaxScheduleBytes, a negative effort or an
/// empty section.
void require_valid(const ScheduleRequest& request);

}  // namespace natten_sim

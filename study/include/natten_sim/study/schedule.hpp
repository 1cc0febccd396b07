#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/schedule_mask.hpp>
#include <natten_sim/io/search_checkpoint.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/schedule_dag.hpp>
#include <natten_sim/study/context.hpp>

namespace natten_sim::study {

/// How long a deterministic attention backward pass takes under one or several schedules, how far that is
/// from a lower bound, and whether it can hang.
///
///     study::ScheduleQuestion question;
///     question.sizes = study::TileSizes{.q_tiles = 8};
///     question.mask = {CausalMask{}};
///     question.algorithms = {"spt"};
///     study::ScheduleAnswer answer = study::schedule(question, study::default_context());
///     const auto* finished = std::get_if<study::FinishedSchedule>(&answer.results.front().outcome);

inline constexpr std::int64_t kMaxScheduleTiles = 65536;                   ///< of one side of the mask
inline constexpr std::int64_t kMaxScheduleTokens = std::int64_t{1} << 40;  ///< of one side of the mask
inline constexpr double kMaxScheduleCost = 9007199254740992.0;             ///< 2^53
inline constexpr double kMaxSearchSeconds = 86400;

/// Sizes in tiles, 1 to kMaxScheduleTiles; one of the two stands for both. Lengths of the mask count tiles.
struct TileSizes {
  std::optional<std::int64_t> q_tiles;
  std::optional<std::int64_t> kv_tiles;
};

/// Sizes in tokens, 1 to kMaxScheduleTokens. Lengths of the mask count tokens.
struct TokenSizes {
  std::int64_t q_tokens = 1;
  std::optional<std::int64_t> kv_tokens;  ///< none: as many as queries
  std::int64_t q_tile = 128;
  std::int64_t kv_tile = 128;
};

/// None: the mask brings its own.
using ScheduleSizes = std::variant<std::monostate, TileSizes, TokenSizes>;

/// CTAs that run at a time: SMs times CTAs a SM.
struct WorkersOfDevice {
  std::string device;
  std::int32_t ctas_per_sm = 1;  ///< 1 to 32
};
/// None: one a KV tile.
using ScheduleWorkers = std::variant<std::monostate, std::int32_t, WorkersOfDevice>;

/// Costs from 0 to kMaxScheduleCost, in a unit of time of the caller's choice. Decimals are exact: 0.3 and
/// 0.1 schedule as 3 and 1.
struct ScheduleCosts {
  double compute = 1;
  std::optional<double> compute_partial;  ///< compute of a partly masked tile; none: the same as compute
  double reduce = 1;
  /// DK/dV reduction of a chain, with fewer KV heads than heads; none: the same as reduce.
  std::optional<double> reduce_kv;
  double per_tile_tax = 0;
  double prologue = 0;  ///< before a chain's first compute
  double epilogue = 0;  ///< behind its last task; with a writer, beside its reduction
  double handoff = 0;
  std::optional<double> handoff_far;  ///< handoff between L2 partitions; none: the same as handoff
  std::int32_t writer_stages = 0;     ///< buffers of an asynchronous dQ writer, 0 to 64; 0: serial
  double early_exit = 0;              ///< of a chain without tasks
  TurnRelease release = TurnRelease::kAtOnce;
  DkvTurns dkv_turns = DkvTurns::kTogether;

  friend bool operator==(const ScheduleCosts&, const ScheduleCosts&) = default;
};

/// What a chain is when several heads share a KV head. kQueryHeads: one (query head, KV tile); dK/dV are
/// reduced over the heads of a group. kKvHeads: one (KV head, KV tile) with the tasks of all its query heads,
/// whose dK/dV stay with it.
enum class GqaChains { kQueryHeads, kKvHeads };

/// What an answer keeps besides its numbers.
struct ScheduleDetail {
  bool plan = true;            ///< chains and orders: for tables and pictures
  bool times = false;          ///< start and end of every task
  bool critical_path = false;  ///< up to 2^22 tasks
};

/// Which algorithm is fastest when a reduction and a handoff cost these multiples of a compute.
struct CostRegion {
  double reduce = 0, handoff = 0;
  std::string fastest;  ///< of the ordered algorithms and the passes; ties: the first in their list
};

struct ScheduleQuestion {
  ScheduleSizes sizes;
  ScheduleMask mask;
  std::int32_t heads = 1;
  std::optional<std::int32_t> heads_kv;  ///< a divisor of the heads; none: heads
  std::int32_t batch = 1;
  GqaChains gqa_chains = GqaChains::kQueryHeads;
  /// 2: pairs of CTAs with neighbouring KV tiles trade halves of dS, and each reduces half of a dQ tile for
  /// both (FlashAttention-4). A pair is one worker, its two KV tiles are one of the schedule, and a reduction
  /// costs half.
  std::int32_t ctas_per_chain = 1;
  ScheduleWorkers workers;
  /// Names; none: all, but a search only up to kCheapTasks tasks or when `effort` is given.
  std::vector<std::string> algorithms;
  std::optional<Dispatch> dispatch;    ///< none: the algorithm's own
  std::optional<HeadSections> launch;  ///< none: the algorithm's own
  TileWalk walk = TileWalk::kInOrder;  ///< of algorithms without Q orders of their own
  std::optional<std::int64_t> effort;  ///< effort of a search; none: see ScheduleRequest
  std::uint64_t seed = 1;              ///< of a search
  std::optional<double> time_limit_s;  ///< of a search, instead of the effort; none: see ScheduleRequest
  /// Of a search: heads at work at a time. None: as many as the L2 of the device holds, by `head_dim` and
  /// `dtype`, with sizes in tokens; without a device any number.
  std::optional<std::int32_t> heads_in_flight;
  std::int64_t head_dim = 128;  ///< 1 to 65,536; of the limit above, and of the memory that a schedule takes
  Dtype dtype = Dtype::kBf16;
  /// Called with the problem before any schedule is made. What it throws ends the question: an answer that
  /// cannot be shown need not be computed.
  std::function<void(const BackwardProblem&)> begins;
  /// Of a search: goes on from here with the iterations that are left of its effort.
  std::optional<SearchCheckpoint> start;
  /// Of a search: called with its problem, the iterations that are done and the best so far, before the first
  /// one, now and then, and behind the last.
  std::function<void(const BackwardProblem&, std::int64_t, const BackwardSchedule&)> standing;
  ScheduleCosts costs;
  /// A cost set of the catalog instead of `costs`: times are microseconds. Masks that are neither full nor
  /// causal take its costs of windows. With sizes in tokens, tiles must be the set's.
  std::optional<std::string> named_costs;
  ScheduleDetail detail;
  bool cost_map = false;  ///< whether to ask where the fastest algorithm changes; up to kCheapTasks tasks
};

/// What an answer to all algorithms does without being asked twice.
inline constexpr std::int64_t kCheapTasks = std::int64_t{1} << 14;

/// Asks of a schedule that was made elsewhere whether it is valid, whether it finishes, and when.
struct TableQuestion {
  ScheduleTable table;
  ScheduleWorkers workers;  ///< none: those of the table
  ScheduleCosts costs;
  ScheduleDetail detail;
};

/// Times are in the unit of the costs. The plan's own costs are whole numbers, in parts of that unit.
struct FinishedSchedule {
  SchedulePlan plan;
  PlanRun run;
  std::optional<double> closed_form;
  /// Whether it finishes on any number of workers, not only on these. It does if it is dispatched dynamically
  /// and launches every chain before those that wait for it.
  bool finishes_on_any_workers = false;
  std::vector<DagSolution> dags;  ///< one a phase, when the critical path was asked for
  /// Memory beside inputs and gradients: fp32 dQ to add to, one for each split; fp32 dK/dV, or one dK/dV a
  /// query head, where heads share them; counters of turns. None: sizes are not in tokens.
  std::optional<std::int64_t> workspace_bytes;
};

struct ScheduleResult {
  std::string name;  ///< name of the algorithm; "table" for a foreign schedule
  bool ordered = true;
  bool repeatable = true;  ///< as in ScheduleAlgorithm
  std::variant<FinishedSchedule, NotApplicable, Deadlock> outcome;
};

struct ScheduleAnswer {
  BackwardProblem problem;
  std::optional<SequenceTiling> tokens;  ///< when the sizes were given in tokens
  TileSizes tiles;                       ///< of one head, before pairs of CTAs or merged heads change them
  std::int32_t ctas = 1;                 ///< that run at a time; the problem's workers, unless they are pairs
  std::int32_t heads = 1, heads_kv = 1, batch = 1;
  BackwardCosts costs;                          ///< with every default, in the given unit
  std::optional<std::int32_t> heads_in_flight;  ///< the limit of searches; none: no limit
  std::vector<ScheduleResult> results;
  std::vector<std::string> left_out;  ///< searches that were not asked for and are not cheap here
  std::vector<CostRegion> cost_map;   ///< by reduce, then by handoff; empty unless asked for
};

/// Makes and runs the schedules. An algorithm that cannot schedule the problem, or whose schedule never
/// finishes, says so in its result. O(tasks log workers) an algorithm; a search takes seconds.
/// @throws UnknownName for an algorithm or device; InvalidParameter for sizes, masks and costs out of range,
///         a checkpoint of another problem, or one for algorithms that do not search.
[[nodiscard]] ScheduleAnswer schedule(const ScheduleQuestion& question, const Context& context);

/// Runs a foreign schedule. @throws as schedule; InvalidParameter when its dispatch is static and there are
/// fewer workers than it names.
[[nodiscard]] ScheduleAnswer schedule(const TableQuestion& question, const Context& context);

/// What a single schedule has to be, made and finished; among several it may say that it is not.
/// @throws InvalidParameter for one that its algorithm cannot make, DeadlockError.
[[nodiscard]] const FinishedSchedule& require_finished(const ScheduleResult& result);

/// The schedule as a table for a kernel to load.
/// @throws InvalidParameter for an algorithm of several passes; requires a plan.
[[nodiscard]] ScheduleTable table_of(const std::string& name, const FinishedSchedule& finished);

}  // namespace natten_sim::study

namespace natten_sim {

template <>
struct NamesOf<study::GqaChains> {
  static constexpr const char* kConcept = "gqa-chains";
  static constexpr Name<study::GqaChains> kTable[] = {{study::GqaChains::kQueryHeads, "query-heads"},
                                                      {study::GqaChains::kKvHeads, "kv-heads"}};
};

}  // namespace natten_sim

// dK/dV in one pass and dQ in another, each local to its worker, so nothing is reduced across workers. Of the
// five products of a backward task (S = QK', dP = dO V', dV, dK, dQ) the first pass needs four and the second
// three: S and dP are computed twice. In the second pass a chain is one (head, Q tile) and its tasks are KV
// tiles.
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/search/schedules/chain_orders.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>

namespace natten_sim::schedules {
namespace {

constexpr double kProducts = 5, kDkvProducts = 4, kDqProducts = 3;

SchedulePhase pass(const char* name, const ScheduleRequest& request, BlockMask mask, double share) {
  ScheduleRequest part = request;
  part.problem.mask = std::move(mask);
  part.problem.merged_heads = 1;  // no table is made of passes: nobody asks for a task's head
  part.costs = BackwardCosts{.compute = request.costs.compute * share,
                             .compute_partial = request.costs.compute_partial * share,
                             .reduce = 0,
                             .reduce_kv = request.costs.reduce_kv};
  part.costs.handoff = request.costs.handoff;  // between the dK/dV reductions of a group of heads
  part.costs.handoff_far = request.costs.handoff_far;
  part.costs.prologue = request.costs.prologue;
  part.costs.epilogue = request.costs.epilogue;
  part.costs.early_exit = request.costs.early_exit;
  part.costs.dkv_turns = request.costs.dkv_turns;
  // dK/dV in the order of heads, so that the first pass is as deterministic as the second.
  return {name, part.problem, part.costs, ascending_launch(part)};
}

BlockMask transposed(const BlockMask& mask) {
  const AttendedTiles& attended = mask.attended();
  MaskCells cells(mask.work.size(), TileWork::kNone);
  for (std::int32_t q = 0; q < mask.q_tiles; ++q) {
    poll();
    for (const std::int32_t kv : attended.kv_of_q[static_cast<std::size_t>(q)])
      cells[static_cast<std::size_t>(kv) * static_cast<std::size_t>(mask.q_tiles) +
            static_cast<std::size_t>(q)] = mask.at(q, kv);
  }
  return {mask.kv_tiles, mask.q_tiles, std::move(cells)};
}

PlanOutcome plan_two_pass(const ScheduleRequest& request) {
  SchedulePlan plan;
  plan.phases.push_back(pass("dkv", request, request.problem.mask, kDkvProducts / kProducts));
  plan.phases.push_back(pass("dq", request, transposed(request.problem.mask), kDqProducts / kProducts));
  plan.phases.back().problem.heads_per_kv_head = 1;  // every head has a dQ of its own
  plan.memory = {.dq_buffers = 0, .dkv_counters = true};
  plan.dispatch = plan.phases.front().schedule.dispatch;
  return plan;
}

}  // namespace

ScheduleAlgorithm two_pass() {
  return {.name = "two-pass",
          .origin = "Triton's tutorial",
          .position = 70,
          .plan = plan_two_pass,
          .ordered = false};
}

}  // namespace natten_sim::schedules

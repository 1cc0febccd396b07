// What a backward call costs beside its tasks.
#include <natten_sim/search/schedules/backward_kernel.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;

TEST_CASE("this project's kernel clears dQ when nothing is ordered, and only then") {
  ScheduleCostSet costs;
  costs.launch_us = 20;
  costs.ordered_launch_us = 3;
  costs.other_bytes_per_s = 1e12;
  costs.clearing_bytes_per_s = 4e12;
  BackwardCall call;
  call.batch = 2;
  call.heads = call.heads_kv = 5;
  call.q_tokens = call.kv_tokens = 1000;
  call.head_dim = 100;
  const double elements = 2.0 * 5 * 1000 * 100;
  // O, dO and dQ in two bytes, the fp32 dQ read: 10 bytes an element. Clearing: 4.
  const double around_us = 10 * elements / 1e6, clearing_us = 4 * elements / 4e6;
  const BackwardKernel& ours = backward_kernel("ours");
  CHECK(call_us(costs, ours, call, ReductionMode::kUnordered, 100) ==
        Approx(100 + 20 + around_us + clearing_us));
  CHECK(call_us(costs, ours, call, ReductionMode::kDeterministic, 100) == Approx(100 + 20 + 3 + around_us));
  costs.clearing_bytes_per_s = 0;
  CHECK(call_us(costs, ours, call, ReductionMode::kUnordered, 100) == Approx(100 + 20 + around_us));
  // Half of the slowdown at slowdown_ms.
  costs.slowdown = 0.1;
  costs.slowdown_ms = (120 + around_us) / 1000;
  CHECK(call_us(costs, ours, call, ReductionMode::kUnordered, 100) == Approx((120 + around_us) * 1.05));
}

TEST_CASE("chains of one or two tasks pay for their draw, in the mean over all chains") {
  ScheduleCostSet set;
  TaskCosts tasks;
  tasks.prologue_us = 2;
  tasks.draw_us = 1.2;
  // Causal, four KV tiles: chains of 4, 3, 2 and 1 tasks. Two of four are brief.
  const BlockMask mask = window_mask({512, 512, 128, 128}, {std::nullopt, 0});
  CHECK(chain_costs(set, tasks, mask, Dispatch::kDynamic).prologue == Approx(2 + 1.2 * 2 / 4));
  CHECK(chain_costs(set, tasks, mask, Dispatch::kStatic).prologue == 2);
}

}  // namespace

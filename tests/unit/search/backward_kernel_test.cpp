// What a backward call costs beside its tasks.
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/search/schedules/backward_kernel.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"

namespace backward_kernel_test {

using namespace natten_sim;

TEST_CASE("a kernel that stores the first part of dQ clears nothing, with an order and without") {
  ScheduleCostSet costs;
  costs.launch_us = 20;
  costs.ordered_launch_us = 3;
  costs.other_bytes_per_s = 1e12;
  BackwardCall call;
  call.batch = 2;
  call.heads = call.heads_kv = 5;
  call.q_tokens = call.kv_tokens = 1000;
  call.head_dim = 100;
  const double elements = 2.0 * 5 * 1000 * 100;
  // O, dO and dQ in two bytes, the fp32 dQ read: 10 bytes an element.
  const double around_us = 10 * elements / 1e6;
  BackwardKernel ours;
  ours.clearing = DqClearing::kNever;
  CHECK(call_us(costs, ours, call, ReductionMode::kDeterministic, 100) == Approx(100 + 20 + 3 + around_us));
  CHECK(call_us(costs, ours, call, ReductionMode::kUnordered, 100) == Approx(100 + 20 + around_us));
  // Half of the slowdown at slowdown_ms.
  costs.slowdown = 0.1;
  costs.slowdown_ms = (120 + around_us) / 1000;
  CHECK(call_us(costs, ours, call, ReductionMode::kUnordered, 100) == Approx((120 + around_us) * 1.05));
}

TEST_CASE("in an order, chains of one or two tasks pay for their draw, in the mean over all chains") {
  ScheduleCostSet set;
  TaskCosts tasks;
  tasks.prologue_us = 2;
  tasks.draw_us = 1.2;
  // Causal, four KV tiles: chains of 4, 3, 2 and 1 tasks. Two of four are brief.
  const BlockMask mask = window_mask({512, 512, 128, 128}, {std::nullopt, 0});
  constexpr ReductionMode kOrdered = ReductionMode::kDeterministic;
  CHECK(chain_costs(set, tasks, mask, Dispatch::kDynamic, kOrdered).prologue == Approx(2 + 1.2 * 2 / 4));
  CHECK(chain_costs(set, tasks, mask, Dispatch::kStatic, kOrdered).prologue == 2);
  CHECK(chain_costs(set, tasks, mask, Dispatch::kDynamic, ReductionMode::kUnordered).prologue == 2);
  // One KV tile with one task, a draw of 1: the only chain is brief.
  tasks.draw_us = 1;
  CHECK(chain_costs(set, tasks, {1, 1, {TileWork::kFull}}, Dispatch::kDynamic, kOrdered).prologue == 2 + 1);
  tasks.draw_us = 0;
  CHECK(chain_costs(set, tasks, mask, Dispatch::kDynamic, kOrdered).prologue == 2);
}

TEST_CASE("spread chains of a section that the L2 does not keep miss that share, and compute grows with it") {
  BackwardCall call;
  call.heads = 64;
  call.q_tokens = 1024;
  call.head_dim = 64;  // Q, dO and fp32 dQ of a head: 512 KiB
  call.l2_bytes = 10 << 20;
  const auto missing = [&](std::int32_t heads, TileWalk walk = TileWalk::kSpread) {
    return missing_reads(0.8, call, walk, {heads});
  };
  CHECK(missing(16) == 0);  // 8 MiB: just kept
  CHECK(missing(32) == Approx(0.5));
  CHECK(missing(64) == Approx(0.75));
  CHECK(missing(100) == missing(64));  // there are no more heads
  CHECK(missing(0) == 0);
  CHECK(missing(64, TileWalk::kInOrder) == 0);
  call.l2_bytes.reset();
  CHECK(missing(64) == 0);

  TaskCosts tasks;
  tasks.compute_us = 2;
  tasks.compute_partial_us = 3;
  tasks.reduce_us = 5;
  tasks.l2_misses = 0.4;
  const auto costs = [&](ReductionMode mode) {
    return chain_costs({}, tasks, {1, 1, {TileWork::kFull}}, Dispatch::kStatic, mode, 0.5);
  };
  CHECK(costs(ReductionMode::kDeterministic).compute == Approx(2.4));
  CHECK(costs(ReductionMode::kDeterministic).compute_partial == Approx(3.6));
  CHECK(costs(ReductionMode::kDeterministic).reduce == 5);
  CHECK(costs(ReductionMode::kUnordered).compute == 2);
}

TEST_CASE("an order costs a turn a task and an end a chain, and nothing where there is none") {
  ScheduleCostSet set;
  TaskCosts tasks;
  tasks.epilogue_us = 2;
  tasks.ordered_chain_us = 0.75;
  tasks.turn_us = 0.5;
  for (const Dispatch dispatch : {Dispatch::kStatic, Dispatch::kDynamic}) {
    const auto of = [&](ReductionMode mode) {
      return chain_costs(set, tasks, {1, 1, {TileWork::kFull}}, dispatch, mode);
    };
    CHECK(of(ReductionMode::kDeterministic).epilogue == 2.75);
    CHECK(of(ReductionMode::kDeterministic).per_tile_tax == 0.5);
    CHECK(of(ReductionMode::kUnordered).epilogue == 2);
    CHECK(of(ReductionMode::kUnordered).per_tile_tax == 0);
  }
}

/// Q, dO and the fp32 dQ of one head: 128 * (2 * 2 + 4) = 1,024 bytes a token.
BackwardCall call_of(std::int64_t tokens, std::int64_t heads, std::int64_t heads_kv, MaskClass mask) {
  BackwardCall call;
  call.mask = mask;
  call.batch = 2;
  call.heads = heads;
  call.heads_kv = heads_kv;
  call.q_tokens = call.kv_tokens = tokens;
  call.sms = 132;
  return call;
}

TEST_CASE("sections hold the largest power of two of heads that fits, and at least one") {
  const BackwardCall call = call_of(1024, 8, 8, MaskClass::kCausal);  // 1 MiB a head
  const std::pair<std::int64_t, std::int32_t> heads_in_bytes[] = {
      {0, 1}, {1, 1}, {2, 2}, {3, 2}, {4, 4}, {7, 4}, {8, 8}, {40, 32}, {50, 32}, {64, 64}};
  for (const auto& [mib, heads] : heads_in_bytes) {
    CHECK(schedules::sections_within(mib << 20, call).heads_per_section == heads);
    if (mib > 1 && mib == heads)
      CHECK(schedules::sections_within((mib << 20) - 1, call).heads_per_section == heads / 2);
  }
  BackwardCall tiny = call;  // a head of 16 bytes: the most heads that a section has
  tiny.q_tokens = 1, tiny.head_dim = 2;
  CHECK(schedules::sections_within(std::int64_t{1} << 40, tiny).heads_per_section == 1 << 20);
}

TEST_CASE("heads at work are those that fit the L2, two more than keep the workers busy at least") {
  const BackwardCall call = call_of(1024, 8, 8, MaskClass::kCausal);
  CHECK(schedules::heads_within(std::int64_t{17} << 20, call, 132, 132) == 17);
  CHECK(schedules::heads_within((std::int64_t{17} << 20) - 1, call, 132, 132) == 16);
  CHECK(schedules::heads_within(0, call, 132, 132) == 1 + 2);
  CHECK(schedules::heads_within(0, call, 132, 131) == 2 + 2);
  CHECK(schedules::heads_within(0, call, 132, 0) == 132 + 2);
}

/// A launch of all masks and head dims.
KernelLaunch launch_of(ReductionMode mode, const char* algorithm, const char* order) {
  KernelLaunch launch;
  launch.mode = mode;
  launch.masks = {MaskClass::kFull, MaskClass::kCausal, MaskClass::kWindow};
  launch.head_dims = {1, 256};
  launch.algorithm = algorithm;
  launch.launch_order = order;
  return launch;
}

TEST_CASE("a launch has as many heads in a section as fit, and says so in words") {
  BackwardKernel kernel;
  kernel.launches = {launch_of(ReductionMode::kDeterministic, "spt", "sections of {heads} heads")};
  kernel.launches.front().section_bytes = std::int64_t{50} << 20;
  const BackwardCall call = call_of(1024, 8, 8, MaskClass::kCausal);  // 1 MiB a head
  const BackwardLaunch launch = kernel_launch(kernel, call, ReductionMode::kDeterministic).value();
  CHECK(launch.algorithm == "spt");
  CHECK(launch.sections.heads_per_section == 32);
  CHECK(launch.launch_order == "sections of 32 heads");
  CHECK_FALSE(kernel_launch(kernel, call, ReductionMode::kUnordered));
}

TEST_CASE("a launch whose memory is beyond its limit gives way to the next") {
  BackwardKernel kernel;
  kernel.launches = {launch_of(ReductionMode::kDeterministic, "two-pass", ""),
                     launch_of(ReductionMode::kDeterministic, "ascending", "")};
  kernel.launches.front().memory = KernelMemory::kScores;
  // 2 batches of 8 heads of 1,000 x 1,000 pairs of two bytes.
  const BackwardCall call = call_of(1000, 8, 8, MaskClass::kFull);
  const std::int64_t scores = 2 * 8 * 1000 * 1000 * 2, dq = 2 * 8 * 1000 * 128 * 4;
  kernel.launches.front().memory_limit_bytes = scores;
  BackwardLaunch launch = kernel_launch(kernel, call, ReductionMode::kDeterministic).value();
  CHECK(launch.algorithm == "two-pass");
  CHECK(launch.workspace_bytes == scores);
  kernel.launches.front().memory_limit_bytes = scores - 1;
  launch = kernel_launch(kernel, call, ReductionMode::kDeterministic).value();
  CHECK(launch.algorithm == "ascending");
  CHECK(launch.workspace_bytes == dq);  // no tiles, no counters
  // With tiles of 64 rows, 16 of them, a counter of four bytes each.
  kernel.tiles = {{{1, 128}, {MaskClass::kFull}, {64, 64}, 1}};
  launch = kernel_launch(kernel, call, ReductionMode::kDeterministic).value();
  CHECK(launch.workspace_bytes == dq + 2 * 8 * 16 * 4);
  // Two query heads a KV head: fp32 dK and dV, and two counters for each of their 16 tiles.
  const BackwardCall grouped = call_of(1000, 8, 4, MaskClass::kFull);
  launch = kernel_launch(kernel, grouped, ReductionMode::kDeterministic).value();
  CHECK(launch.workspace_bytes == dq + 2 * 8 * 16 * 4 + 2 * (2 * 4 * 1000 * 128 * 4 + 2 * 4 * 16 * 4));
}

TEST_CASE("the kernels around move O, dO and dQ, and dK and dV of grouped heads, and a split its buffers") {
  // 2 batches of 8 heads of 1,000 tokens of 128: elements of Q; a quarter of them of K, on 500 keys an
  // eighth.
  BackwardCall call = call_of(1000, 8, 8, MaskClass::kFull);
  const double q = 2.0 * 8 * 1000 * 128;
  // O, dO and dQ in two bytes, the fp32 dQ cleared and read.
  CHECK(schedules::bytes_around(call) == q * (3 * 2 + 2 * 4));
  call.element_bytes = 1;
  CHECK(schedules::bytes_around(call) == q * (3 * 1 + 2 * 4));
  call.element_bytes = 2;
  call.heads_kv = 2;
  call.kv_tokens = 500;
  const double kv = 2.0 * 2 * 500 * 128;  // dK and dV: cleared, read and written
  const double around = q * 14 + 2 * kv * (2 + 2 * 4);
  CHECK(schedules::bytes_around(call) == around);
  BackwardKernel kernel;
  kernel.launches = {launch_of(ReductionMode::kDeterministic, "fa2-split", ""),
                     launch_of(ReductionMode::kUnordered, "unordered", "")};
  using schedules::other_bytes;
  for (const ReductionMode mode : {ReductionMode::kDeterministic, ReductionMode::kUnordered}) {
    CHECK(other_bytes(kernel, call, mode) == around);
  }
  // Nine buffers, ceil(132 SMs / 16 heads), are cleared, not one, and the second phase reads them.
  kernel.launches.front().memory = KernelMemory::kDqPerCta;
  CHECK(other_bytes(kernel, call, ReductionMode::kUnordered) == around);
  CHECK(other_bytes(kernel, call, ReductionMode::kDeterministic) == around + 4 * q * (9 - 2));
  CHECK(kernel_launch(kernel, call, ReductionMode::kDeterministic)->workspace_bytes ==
        static_cast<std::int64_t>(9 * 4 * q + 2 * kv * 4));
  // A kernel that clears nothing only reads the fp32 dQ.
  kernel.launches.front().memory = KernelMemory::kOneDq;
  kernel.clearing = DqClearing::kNever;
  for (const ReductionMode mode : {ReductionMode::kDeterministic, ReductionMode::kUnordered})
    CHECK(other_bytes(kernel, call, mode) == around - 4 * q);
}

}  // namespace backward_kernel_test

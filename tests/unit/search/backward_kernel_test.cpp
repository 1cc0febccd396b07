// What a backward call costs beside its tasks.
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/search/schedules/backward_kernel.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

#include "catch.hpp"

namespace backward_kernel_test {

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
  // One KV tile with one task, a draw of 1: the only chain is brief.
  tasks.draw_us = 1;
  CHECK(chain_costs(set, tasks, {1, 1, {TileWork::kFull}}, Dispatch::kDynamic).prologue == 2 + 1);
  tasks.draw_us = 0;
  CHECK(chain_costs(set, tasks, mask, Dispatch::kDynamic).prologue == 2);
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

TEST_CASE("FlashAttention-4 has FlashAttention-3's tiles, and no kernel of that kind beyond head dim 192") {
  for (const MaskClass mask : {MaskClass::kFull, MaskClass::kCausal, MaskClass::kWindow}) {
    for (std::int64_t head_dim = 1; head_dim <= 192; ++head_dim) {
      const TileTokens fa4 = backward_kernel("fa4").tiles(head_dim, mask).value();
      const TileTokens fa3 = backward_kernel("fa3").tiles(head_dim, mask).value();
      CHECK(fa4.q == fa3.q);
      CHECK(fa4.kv == fa3.kv);
    }
    CHECK_FALSE(backward_kernel("fa4").tiles(193, mask));
  }
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

TEST_CASE("kernels launch in the order of their sources") {
  using Mode = ReductionMode;
  const auto launch = [](const char* kernel, MaskClass mask, Mode mode, std::int64_t tokens = 1024) {
    return backward_kernel(kernel).launch(call_of(tokens, 8, 8, mask), mode);
  };
  // FlashAttention-3: 40 MiB of L2, sections for causal masks in both modes; 4: 50 MiB, when deterministic
  // alone.
  for (const MaskClass mask : {MaskClass::kFull, MaskClass::kCausal, MaskClass::kWindow}) {
    const bool full = mask == MaskClass::kFull;
    for (const char* kernel : {"fa3", "fa4"}) {
      const bool third = std::string(kernel) == "fa3";
      CAPTURE(kernel, full);
      const BackwardLaunch ordered = launch(kernel, mask, Mode::kDeterministic);
      CHECK(ordered.algorithm == (full ? "ascending" : "spt"));
      CHECK(ordered.dq_order == (full ? "ascending KV tile" : "descending KV tile"));
      CHECK(ordered.sections.heads_per_section == (full && third ? 1 : 32));
      const BackwardLaunch unordered = launch(kernel, mask, Mode::kUnordered);
      CHECK(unordered.algorithm == "unordered");
      CHECK(unordered.dq_order == "none");
      CHECK(unordered.sections.heads_per_section == (!full && third ? 32 : 1));
      CHECK(ordered.dispatch == Dispatch::kDynamic);
      CHECK_FALSE(ordered.heads_in_flight);
    }
  }
  CHECK(launch("fa3", MaskClass::kCausal, Mode::kDeterministic).launch_order ==
        "sections of 32 heads, heads fastest, KV tiles descending");
  CHECK(launch("fa3", MaskClass::kCausal, Mode::kUnordered).launch_order ==
        "sections of 32 heads, heads fastest, KV tiles ascending");
  CHECK(launch("fa4", MaskClass::kFull, Mode::kDeterministic).launch_order ==
        "sections of 32 heads, heads fastest, KV tiles ascending");
  // 24 MiB a head: FlashAttention-4's 50 MiB hold two, 40 MiB one.
  CHECK(launch("fa4", MaskClass::kCausal, Mode::kDeterministic, 24 * 1024).sections.heads_per_section == 2);
  CHECK(launch("fa3", MaskClass::kCausal, Mode::kDeterministic, 24 * 1024).sections.heads_per_section == 1);
  // FlashAttention-2: ceil(132 SMs / 16 heads) = 9 CTAs a head.
  const BackwardLaunch split = launch("fa2", MaskClass::kCausal, Mode::kDeterministic);
  CHECK(split.algorithm == "fa2-split");
  CHECK(split.launch_order == "9 CTAs a head, each with every 9th KV tile");
  CHECK(launch("fa2", MaskClass::kCausal, Mode::kUnordered).algorithm == "unordered");
  // This project's: the shift for full masks, a search for others, with as many heads as the L2 holds.
  BackwardCall call = call_of(1024, 8, 8, MaskClass::kFull);
  CHECK(backward_kernel("ours").launch(call, Mode::kDeterministic).algorithm == "shift");
  CHECK(backward_kernel("ours").launch(call, Mode::kDeterministic).dispatch == Dispatch::kStatic);
  CHECK_FALSE(backward_kernel("ours").launch(call, Mode::kDeterministic).heads_in_flight);
  CHECK(backward_kernel("ours").launch(call, Mode::kUnordered).algorithm == "unordered");
  call.mask = MaskClass::kCausal;
  call.l2_bytes = std::int64_t{25} << 20;
  const BackwardLaunch searched = backward_kernel("ours").launch(call, Mode::kDeterministic);
  CHECK(searched.algorithm == "best");
  CHECK(searched.heads_in_flight == 25);  // 132 SMs need ceil(132 / 8 KV tiles) + 2 = 19
  call.l2_bytes = std::int64_t{10} << 20;
  CHECK(backward_kernel("ours").launch(call, Mode::kDeterministic).heads_in_flight == 19);
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
  for (const char* kernel : {"fa3", "fa4"}) {
    for (const ReductionMode mode : {ReductionMode::kDeterministic, ReductionMode::kUnordered})
      CHECK(backward_kernel(kernel).other_bytes(call, mode) == around);
    CHECK(backward_kernel(kernel).cleared_bytes == nullptr);
  }
  // FlashAttention-2: nine buffers are cleared, not one, and the second phase reads them.
  CHECK(backward_kernel("fa2").other_bytes(call, ReductionMode::kUnordered) == around);
  CHECK(backward_kernel("fa2").other_bytes(call, ReductionMode::kDeterministic) == around + 4 * q * (9 - 2));
  // Ours: the fp32 dQ is read alone; it is cleared for additions without order.
  CHECK(backward_kernel("ours").other_bytes(call, ReductionMode::kDeterministic) == around - 4 * q);
  CHECK(backward_kernel("ours").cleared_bytes(call, ReductionMode::kUnordered) == 4 * q);
  CHECK(backward_kernel("ours").cleared_bytes(call, ReductionMode::kDeterministic) == 0);
}

TEST_CASE("kernels are listed by position, and an unknown one is answered with all of them") {
  std::vector<std::string> names;
  for (const BackwardKernel& kernel : backward_kernels()) {
    names.push_back(kernel.name);
    CHECK_FALSE(kernel.title.empty());
    CHECK_FALSE(kernel.source.empty());
    CHECK(&backward_kernel(kernel.name) == &kernel);
  }
  CHECK(names == std::vector<std::string>{"fa2", "fa3", "fa4", "ours"});
  try {
    (void)backward_kernel("fa5");
    FAIL("an unknown kernel was found");
  } catch (const UnknownName& error) {
    CHECK(error.accepted() == "fa2, fa3, fa4, ours");
  }
}

}  // namespace backward_kernel_test

// Attention backward without a GPU: the CPU oracle against central differences, tiles of the mask against the
// scheduler's, and which schedules are run and which are refused.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <utility>

#include <natten_sim/kernels/attention_backward/oracle.hpp>
#include <natten_sim/kernels/attention_forward/oracle.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/sim/schedules/schedule_run.hpp>

#include "attention_backward/work_list.hpp"
#include "catch.hpp"
#include "random.hpp"

namespace attention_backward_test {

using namespace natten_sim;
using namespace natten_sim::kernels::attention_backward;

Problem make_problem(std::int64_t heads, std::int64_t heads_kv, std::int64_t q_tokens,
                     std::int64_t kv_tokens) {
  Problem problem;
  problem.heads = heads;
  problem.heads_kv = heads_kv;
  problem.q_tokens = q_tokens;
  problem.kv_tokens = kv_tokens;
  problem.head_dim = 64;
  lay_out_heads_first(problem);
  return problem;
}

/// Multiples of 1/8 between -1 and 1: sums of an eighth more or less are numbers of bf16 too.
std::vector<std::uint16_t> random_elements(std::int64_t count, std::mt19937& random) {
  std::vector<std::uint16_t> made;
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(static_cast<int>(random() % 17) - 8) / 8.0f;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    made.push_back(static_cast<std::uint16_t>(bits >> 16));
  }
  return made;
}

void shift_element(std::uint16_t& element, float by) {
  const auto value =
      static_cast<float>(kernels::attention_forward::value_of_bits(element, Dtype::kBf16)) + by;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  element = static_cast<std::uint16_t>(bits >> 16);
}

/// sum of O * dO over all rows: what the gradients are the derivatives of.
double loss(const Problem& problem, const HostTensors& tensors) {
  double sum = 0;
  for (std::int64_t head = 0; head < problem.heads; ++head) {
    for (std::int64_t query = 0; query < problem.q_tokens; ++query) {
      const auto row = kernels::attention_forward::reference_row(
          forward_of(problem), {tensors.q, tensors.k, tensors.v}, 0, head, query);
      const std::int64_t at = head * problem.o.head + query * problem.o.token;
      for (std::int64_t d = 0; d < problem.head_dim; ++d) {
        sum += row.o[static_cast<std::size_t>(d)] *
               kernels::attention_forward::value_of_bits(tensors.d_o[static_cast<std::size_t>(at + d)],
                                                         Dtype::kBf16);
      }
    }
  }
  return sum;
}

TEST_CASE("the CPU oracle's gradients are central differences of the forward oracle's output") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937 random(seed);
  Problem problem = make_problem(4, 2, 7, 9);
  problem.mask = Band{5, 1};
  HostTensors tensors{random_elements(4 * 7 * 64, random), random_elements(2 * 9 * 64, random),
                      random_elements(2 * 9 * 64, random), random_elements(4 * 7 * 64, random)};
  const HostGradients gradients = reference_on_host(problem, tensors);
  const auto compare = [&](std::vector<std::uint16_t>& tensor, const std::vector<double>& gradient) {
    for (int trial = 0; trial < 12; ++trial) {
      const std::size_t i = random() % tensor.size();
      const std::uint16_t kept = tensor[i];
      constexpr float kStep = 0.0625f;
      shift_element(tensor[i], kStep);
      const double above = loss(problem, tensors);
      tensor[i] = kept;
      shift_element(tensor[i], -kStep);
      const double below = loss(problem, tensors);
      tensor[i] = kept;
      // The third derivative of a softmax of scores q k / 8 leaves a few parts in 10^5.
      CHECK(std::abs((above - below) / (2 * kStep) - gradient[i]) < 1e-3 * (1 + std::abs(gradient[i])));
    }
  };
  compare(tensors.q, gradients.dq);
  compare(tensors.k, gradients.dk);
  compare(tensors.v, gradients.dv);
}

TEST_CASE("tiles of a problem's mask are those that the scheduler makes of the same window") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    const auto pick = [&](int from, int to) {
      return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
    };
    Problem problem = make_problem(1, 1, pick(1, 900), pick(1, 900));
    if (pick(0, 1) == 1) problem.mask.left = pick(0, 500);
    if (pick(0, 1) == 1) problem.mask.right = pick(0, 500);
    KernelShape kernel;
    kernel.q_tile = pick(0, 1) == 0 ? 64 : 128;
    const BlockMask expected =
        window_mask({problem.q_tokens, problem.kv_tokens, kernel.q_tile, kernel.kv_tile},
                    {problem.mask.left, problem.mask.right});
    const BlockMask mine = block_mask(problem, kernel);
    REQUIRE(mine.q_tiles == expected.q_tiles);
    REQUIRE(mine.kv_tiles == expected.kv_tiles);
    for (std::int32_t q = 0; q < mine.q_tiles; ++q) {
      for (std::int32_t kv = 0; kv < mine.kv_tiles; ++kv) {
        // Keys behind the end are hidden by the kernel's mask: there, full is partial.
        const bool cut =
            (kv + 1) * kernel.kv_tile > problem.kv_tokens && expected.at(q, kv) == TileWork::kFull;
        CHECK(mine.at(q, kv) == (cut ? TileWork::kPartial : expected.at(q, kv)));
      }
    }
  }
}

BackwardSchedule random_schedule(const BackwardProblem& tiles, std::mt19937& random, bool finishing) {
  BackwardSchedule schedule;
  schedule.dispatch = Dispatch::kStatic;
  for (std::int32_t head = 0; head < tiles.heads; ++head) {
    for (std::int32_t kv = 0; kv < tiles.mask.kv_tiles; ++kv) {
      schedule.chains.push_back({head, kv, attended_q_tiles(tiles.mask, kv)});
      std::shuffle(schedule.chains.back().q_order.begin(), schedule.chains.back().q_order.end(), random);
    }
  }
  std::shuffle(schedule.chains.begin(), schedule.chains.end(), random);
  for (std::size_t i = 0; i < schedule.chains.size(); ++i)
    schedule.worker.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(tiles.workers)));
  for (std::int32_t head = 0; head < tiles.heads; ++head) {
    for (std::int32_t q = 0; q < tiles.mask.q_tiles; ++q) {
      schedule.dq_order.push_back(attended_kv_tiles(tiles.mask, q));
      std::shuffle(schedule.dq_order.back().begin(), schedule.dq_order.back().end(), random);
    }
  }
  if (!finishing) return schedule;
  for (std::vector<std::int32_t>& order : schedule.dq_order) order.clear();
  for (const ScheduledChain& chain : schedule.chains) {  // one chain after the other finishes
    for (const std::int32_t q : chain.q_order)
      schedule.dq_order[static_cast<std::size_t>(chain.head * tiles.mask.q_tiles + q)].push_back(
          chain.kv_tile);
  }
  return schedule;
}

bool is_refused(const Problem& problem, const BackwardProblem& tiles, const BackwardSchedule& schedule) {
  try {
    require_runnable(problem, KernelShape{}, tiles, schedule);
    return false;
  } catch (const InvalidParameter&) {
    return true;
  }
}

TEST_CASE("a static schedule is refused exactly when its simulation deadlocks") {
  const std::uint64_t seed = natten_sim::test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937 random(seed);
  int refused = 0, accepted = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Problem problem = make_problem(2, 2, 64 * (1 + random() % 4), 128 * (1 + random() % 3));
    if (random() % 2 == 0) problem.mask.right = 0;
    const BackwardProblem tiles =
        scheduling_problem(problem, KernelShape{}, static_cast<std::int32_t>(1 + random() % 6));
    const BackwardSchedule schedule = random_schedule(tiles, random, trial % 4 == 0);
    const bool deadlock = std::holds_alternative<Deadlock>(attempt_schedule(tiles, {}, schedule));
    CHECK(is_refused(problem, tiles, schedule) == deadlock);
    ++(deadlock ? refused : accepted);
  }
  CHECK(refused > 20);
  CHECK(accepted > 100);
}

/// With dynamic dispatch, whether some dQ tile is to be reduced into by a chain before one that is launched
/// earlier.
bool turns_run_against_launch(const BackwardProblem& tiles, const BackwardSchedule& schedule) {
  if (schedule.dispatch == Dispatch::kStatic) return false;
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> launched;
  for (std::size_t i = 0; i < schedule.chains.size(); ++i)
    launched[{schedule.chains[i].head, schedule.chains[i].kv_tile}] = i;
  for (std::size_t dq = 0; dq < schedule.dq_order.size(); ++dq) {
    const auto head = static_cast<std::int32_t>(dq / static_cast<std::size_t>(tiles.mask.q_tiles));
    const std::vector<std::int32_t>& order = schedule.dq_order[dq];
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (launched.at({head, order[i - 1]}) > launched.at({head, order[i]})) return true;
    }
  }
  return false;
}

TEST_CASE("the named algorithms' schedules are run, on as many workers as they were made for") {
  for (const bool causal : {false, true}) {
    Problem problem = make_problem(3, 3, 1000, 1000);
    if (causal) problem.mask.right = 0;
    ScheduleRequest request;
    request.problem = scheduling_problem(problem, KernelShape{}, 7);
    int runnable = 0;
    for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) {
      if (algorithm->searches) continue;
      const PlanOutcome outcome = attempt_plan(*algorithm, request);
      const SchedulePlan* plan = std::get_if<SchedulePlan>(&outcome);
      if (plan == nullptr || plan->phases.size() != 1 || !algorithm->ordered) continue;
      INFO(algorithm->name);
      const BackwardProblem& tiles = plan->phases[0].problem;
      const BackwardSchedule& schedule = plan->phases[0].schedule;
      // Of the named ones only the greedy order may do that.
      const bool against = turns_run_against_launch(tiles, schedule);
      CHECK(is_refused(problem, tiles, schedule) == against);
      if (against) CHECK(algorithm->name == "first-come");
      ++runnable;
    }
    CHECK(runnable >= 4);
  }
}

TEST_CASE("a dynamic schedule whose turns run against its launch order is refused") {
  const Problem problem = make_problem(1, 1, 64, 256);
  const BackwardProblem tiles = scheduling_problem(problem, KernelShape{}, 2);
  BackwardSchedule schedule;
  schedule.chains = {{0, 0, {0}}, {0, 1, {0}}};
  schedule.dq_order = {{0, 1}};
  CHECK_FALSE(is_refused(problem, tiles, schedule));
  schedule.dq_order = {{1, 0}};  // finishes on two workers, not on one
  CHECK(is_refused(problem, tiles, schedule));
  schedule.dq_order.clear();  // unordered
  CHECK_FALSE(is_refused(problem, tiles, schedule));
}

TEST_CASE("a table of another mask is refused") {
  const Problem full = make_problem(1, 1, 256, 256);
  Problem causal = full;
  causal.mask.right = 0;
  ScheduleRequest request;
  request.problem = scheduling_problem(causal, KernelShape{}, 2);
  const SchedulePlan plan = plan_backward(schedule_algorithm("descending"), request);
  CHECK_FALSE(is_refused(causal, plan.phases[0].problem, plan.phases[0].schedule));
  CHECK(is_refused(full, plan.phases[0].problem, plan.phases[0].schedule));
}

TEST_CASE("a work list has every task once with its turn, the last of each chain marked") {
  Problem problem = make_problem(2, 1, 300, 400);  // the last two Q tiles of KV tile 3 alone see it
  problem.mask = Band{100, 0};
  problem.batch = 2;
  lay_out_heads_first(problem);
  ScheduleRequest request;
  request.problem = scheduling_problem(problem, KernelShape{}, 3);
  const SchedulePlan plan = plan_backward(schedule_algorithm("shift"), request);
  const BackwardProblem& tiles = plan.phases[0].problem;
  const BackwardSchedule& schedule = plan.phases[0].schedule;
  const WorkList list = work_list(problem, KernelShape{}, tiles, schedule);
  REQUIRE(list.worker_begin.size() == 4);
  CHECK(list.worker_begin.back() == static_cast<std::int32_t>(list.chains.size()));
  REQUIRE(list.chains.size() == schedule.chains.size());
  std::set<std::vector<int>> seen;
  for (const Chain& chain : list.chains) {
    for (std::int32_t i = 0; i < chain.count; ++i) {
      const Task& task = list.tasks[static_cast<std::size_t>(chain.first + i)];
      CHECK(task.has(kLast) == (i + 1 == chain.count));
      CHECK(task.kv_head == task.head / 2);
      if (task.has(kNoDq)) continue;
      const TileWork work = tiles.mask.at(task.q_tile, task.kv_tile);
      CHECK(work != TileWork::kNone);
      const auto& order = schedule.dq_order[static_cast<std::size_t>(
          (task.batch * 2 + task.head) * tiles.mask.q_tiles + task.q_tile)];
      CHECK(order.at(task.rank) == task.kv_tile);
      CHECK(seen.insert({task.batch, task.head, task.q_tile, task.kv_tile}).second);
    }
  }
  std::size_t attended = 0;
  for (const TileWork work : tiles.mask.work) attended += work != TileWork::kNone ? 4u : 0u;
  CHECK(seen.size() == attended);
}

TEST_CASE("a chain without tasks still stands in the list, so that its dK and dV are written") {
  Problem problem = make_problem(1, 1, 64, 512);
  problem.mask = Band{10, 0};  // the queries lie at the end: the first keys are seen by none
  ScheduleRequest request;
  request.problem = scheduling_problem(problem, KernelShape{}, 1);
  const SchedulePlan plan = plan_backward(schedule_algorithm("ascending"), request);
  const WorkList list = work_list(problem, KernelShape{}, plan.phases[0].problem, plan.phases[0].schedule);
  REQUIRE(list.chains.size() == 4);
  const Task& first = list.tasks[static_cast<std::size_t>(list.chains[0].first)];
  CHECK(list.chains[0].count == 1);
  CHECK(first.has(kNoDq));
  CHECK(first.has(kMasked));
  CHECK(first.has(kLast));
}

}  // namespace attention_backward_test

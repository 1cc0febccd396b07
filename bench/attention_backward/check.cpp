#include "check.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

#include "cases.hpp"
#include "noise.hpp"
#include "tables.hpp"

namespace natten_sim::bench {
namespace {

using backward::KernelShape;
using backward::Problem;
using backward::Turns;

/// The GPU oracle against plain loops on the CPU: largest difference, absolute.
double oracle_difference(const Problem& problem, const Storage& storage,
                         const backward::Reference& reference) {
  const backward::HostGradients host = backward::reference_on_host(problem, storage.host_inputs());
  double worst = 0;
  const auto look = [&](const std::vector<double>& expected, const kernels::DeviceBuffer& buffer) {
    std::vector<double> got(expected.size());
    buffer.copy_to_host(got.data(), got.size() * 8);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double off = std::abs(got[i] - expected[i]);
      worst = off <= worst ? worst : off;  // NaN too
    }
  };
  look(host.dq, reference.dq.value);
  look(host.dk, reference.dk.value);
  look(host.dv, reference.dv.value);
  return worst;
}

std::int64_t pairs(const Problem& problem) {
  return problem.batch * problem.heads * problem.q_tokens * problem.kv_tokens;
}

bool run(const kernels::GpuInfo& gpu, Case test, std::uint64_t seed, const std::string& dump) {
  Storage storage(gpu, test.problem, test.padding, seed);
  const std::optional<ScheduleTable> table =
      table_of(test.problem, test.kernel, test.algorithm, test.workers, 8, test.grouped);
  if (!table) {
    std::printf("FAIL %s: %s does not apply\n", test.name.c_str(), test.algorithm.c_str());
    return false;
  }
  backward::FaultInjection faults;
  faults.delay_ns = test.delay_ns;
  faults.draws = test.draws;
  const backward::Plan plan(gpu, test.problem, test.kernel, table->problem, table->schedule, test.turns,
                            storage.tensors(), faults);
  plan.launch();
  kernels::synchronize();
  const backward::Reference reference = backward::reference_on_gpu(test.problem, storage.tensors());
  const backward::Deviation off = backward::deviation(test.problem, storage.tensors(), reference);
  const double oracle =
      pairs(test.problem) <= 1 << 15 ? oracle_difference(test.problem, storage, reference) : 0;
  const std::int64_t overwritten = pairs(test.problem) <= 1 << 24 ? storage.overwritten(test.problem) : 0;
  const Storage::Bits bits = storage.bits();
  int different = 0;
  Noise noise(test.noise);
  for (int i = 1; i < test.repeats; ++i) {
    storage.poison();
    kernels::synchronize();
    noise.start();
    plan.launch();
    Storage::Bits again = storage.bits();
    if (test.turns == Turns::kUnordered) again.dq = bits.dq;
    different += again == bits ? 0 : 1;
  }
  // Other bits each time, so the last launch's are compared as well.
  const bool last = test.turns == Turns::kOrdered || test.repeats == 1 ||
                    backward::deviation(test.problem, storage.tensors(), reference).within_bound();
  const bool passed = off.within_bound() && last && oracle < 1e-10 && overwritten == 0 && different == 0;
  const auto wrong = [](const backward::GradientDeviation& gradient) {
    return static_cast<long long>(gradient.wrong);
  };
  std::printf(
      "%-4s %-58s norms %.1e %.1e %.1e  elements %.2f %.2f %.2f  wrong %lld %lld %lld  guards %lld  oracle "
      "%.0e  "
      "%d of %d repeats differ\n",
      passed ? "ok" : "FAIL", test.name.c_str(), off.dq.relative_norm, off.dk.relative_norm,
      off.dv.relative_norm, off.dq.worst_element, off.dk.worst_element, off.dv.worst_element, wrong(off.dq),
      wrong(off.dk), wrong(off.dv), static_cast<long long>(overwritten), oracle, different, test.repeats - 1);
  std::fflush(stdout);
  if (!passed && !dump.empty() && pairs(test.problem) <= 1 << 16) {
    std::string file = test.name;
    std::replace_if(
        file.begin(), file.end(), [](char c) { return c == ' ' || c == ',' || c == ':'; }, '_');
    storage.dump(dump, file);
  }
  return passed;
}

/// Exchanges two neighbours in the order of every dQ tile where the table still finishes: of one tile alone,
/// all elements might round to the same 16 bits. Returns the number of tiles.
int swap_turns(const Problem& problem, const KernelShape& kernel, ScheduleTable& table) {
  int swapped = 0;
  for (std::vector<std::int32_t>& order : table.schedule.dq_order) {
    for (std::size_t i = 2; i < order.size(); ++i) {  // the first two commute: x + y is y + x
      std::swap(order[i - 1], order[i]);
      try {
        backward::require_runnable(problem, kernel, table.problem, table.schedule);
        ++swapped;
        break;
      } catch (const InvalidParameter&) {
        std::swap(order[i - 1], order[i]);
      }
    }
  }
  return swapped;
}

/// Random Q orders, workers and launch orders; turns as random workers would take them one at a time, so that
/// every such table finishes.
ScheduleTable random_table(const BackwardProblem& tiles, std::mt19937_64& random) {
  ScheduleTable table{tiles, {}};
  BackwardSchedule& schedule = table.schedule;
  schedule.dispatch = Dispatch::kStatic;
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> lists(
      static_cast<std::size_t>(tiles.workers));
  for (std::int32_t head = 0; head < tiles.heads; ++head) {
    for (std::int32_t kv = 0; kv < tiles.mask.kv_tiles; ++kv)
      schedule.chains.push_back({head, kv, attended_q_tiles(tiles.mask, kv)});
  }
  std::shuffle(schedule.chains.begin(), schedule.chains.end(), random);
  for (std::size_t i = 0; i < schedule.chains.size(); ++i) {
    std::vector<std::int32_t>& order = schedule.chains[i].q_order;
    std::shuffle(order.begin(), order.end(), random);
    const std::size_t worker = random() % lists.size();
    schedule.worker.push_back(static_cast<std::int32_t>(worker));
    for (std::size_t task = 0; task < order.size(); ++task) lists[worker].push_back({i, task});
  }
  schedule.dq_order.resize(static_cast<std::size_t>(tiles.heads) *
                           static_cast<std::size_t>(tiles.mask.q_tiles));
  std::vector<std::size_t> at(lists.size(), 0), busy(lists.size());
  for (std::size_t worker = 0; worker < busy.size(); ++worker) busy[worker] = worker;
  while (!busy.empty()) {
    const std::size_t which = random() % busy.size(), worker = busy[which];
    if (at[worker] == lists[worker].size()) {
      busy.erase(busy.begin() + static_cast<std::ptrdiff_t>(which));
      continue;
    }
    const auto [chain, task] = lists[worker][at[worker]++];
    const ScheduledChain& own = schedule.chains[chain];
    schedule.dq_order[static_cast<std::size_t>(own.head * tiles.mask.q_tiles + own.q_order[task])].push_back(
        own.kv_tile);
  }
  return table;
}

/// Tables with the same Q orders have the same dK and dV, with other dQ orders another dQ.
bool run_swapped(const kernels::GpuInfo& gpu, kernels::AttentionEngine engine) {
  Problem problem = sequence(4, 2048, 128, false);
  const KernelShape kernel = backward::best_kernel(problem, engine);
  Storage storage(gpu, problem, 0, 5);
  ScheduleTable table = *table_of(problem, kernel, "shift", 40);
  const auto bits = [&] {
    storage.poison();
    const backward::Plan plan(gpu, problem, kernel, table.problem, table.schedule, Turns::kOrdered,
                              storage.tensors());
    plan.launch();
    kernels::synchronize();
    return storage.bits();
  };
  const Storage::Bits before = bits();
  const int swapped = swap_turns(problem, kernel, table);
  if (swapped == 0) {
    std::printf("FAIL %s: swapped turns: no table that finishes\n", to_string(engine));
    return false;
  }
  const Storage::Bits after = bits();
  const bool passed = before.dk == after.dk && before.dv == after.dv && before.dq != after.dq;
  std::printf("%-4s %s: two turns of %d dQ tiles exchanged: dQ %s, dK and dV %s\n", passed ? "ok" : "FAIL",
              to_string(engine), swapped, before.dq != after.dq ? "differs" : "is the same",
              before.dk == after.dk && before.dv == after.dv ? "are the same" : "differ");
  return passed;
}

}  // namespace

bool run_host_halves() {
  int failed = 0;
  const std::vector<Case> cases = all_cases();
  for (Case test : cases) {
    backward::lay_out_heads_first(test.problem);
    const std::optional<ScheduleTable> table =
        table_of(test.problem, test.kernel, test.algorithm, test.workers, 8, test.grouped);
    try {
      if (!table) throw InvalidParameter("algorithm", test.algorithm, "one that applies");
      backward::require_runnable(test.problem, test.kernel, table->problem, table->schedule);
    } catch (const InvalidParameter& error) {
      std::printf("FAIL %s: %s\n", test.name.c_str(), error.what());
      ++failed;
    }
  }
  std::printf("%d of %d tables can be run\n", static_cast<int>(cases.size()) - failed,
              static_cast<int>(cases.size()));
  return failed == 0;
}

bool run_checks(const kernels::GpuInfo& gpu, const std::string& filter, const std::string& dump) {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1000003;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const std::vector<Case> cases = all_cases();
  int failed = 0, ran = 0;
  for (const Case& test : cases) {
    if (test.name.find(filter) == std::string::npos || !runs_on(gpu, test.kernel.engine)) continue;
    ++ran;
    failed += run(gpu, test, seed + static_cast<std::uint64_t>(ran), dump) ? 0 : 1;
  }
  for (const auto engine : {kernels::AttentionEngine::kWgmma, kernels::AttentionEngine::kMmaSync}) {
    const bool asked = filter.empty() || filter == "exchanged" || filter == to_string(engine);
    if (!asked || !runs_on(gpu, engine)) continue;
    ++ran;
    failed += run_swapped(gpu, engine) ? 0 : 1;
  }
  std::printf("%d of %d checks passed\n", ran - failed, ran);
  return failed == 0 && ran > 0;
}

namespace {

struct RandomProblem {
  Problem problem;
  KernelShape kernel;
};
constexpr int kRandomProblems = 5;

/// Full, causal, random pairs for both head dimensions, and tiles of 80 queries (full again where none has
/// them).
std::vector<RandomProblem> random_problems(std::uint64_t seed, kernels::AttentionEngine engine) {
  std::vector<RandomProblem> made;
  for (int i = 0; i < kRandomProblems; ++i) {
    Problem problem = sequence(3, 1100, i == 3 ? 64 : 128, i == 1);
    if (i == 2 || i == 3) problem.pairs = random_pairs(1100, 1100, seed);
    KernelShape kernel = backward::best_kernel(problem, engine);
    if (i == 4 && engine == kernels::AttentionEngine::kWgmma) {
      kernel.q_tile = 80;
      kernel.pipeline = backward::Pipeline::kWaitsLate;
    }
    made.push_back({problem, kernel});
  }
  return made;
}

}  // namespace

bool run_random_tables(const kernels::GpuInfo& gpu, int count, kernels::AttentionEngine engine) {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1000003;
  std::mt19937_64 random(seed);
  int wrong = 0, different = 0, ran = 0;
  for (RandomProblem& each : random_problems(seed, engine)) {
    Problem& problem = each.problem;
    const KernelShape& kernel = each.kernel;
    Storage storage(gpu, problem, 0, seed);
    const backward::Reference reference = backward::reference_on_gpu(problem, storage.tensors());
    for (int i = 0; i < count / kRandomProblems; ++i, ++ran) {
      const auto workers = static_cast<std::int32_t>(1 + random() % static_cast<std::uint64_t>(gpu.sms));
      const ScheduleTable table =
          random_table(backward::scheduling_problem(problem, kernel, workers), random);
      const backward::Plan plan(gpu, problem, kernel, table.problem, table.schedule, Turns::kOrdered,
                                storage.tensors(), {i % 4 == 0 ? 2000u : 0u, std::nullopt});
      storage.poison();
      plan.launch();
      wrong += backward::deviation(problem, storage.tensors(), reference).within_bound() ? 0 : 1;
      if (i % 10 != 0) continue;
      const Storage::Bits bits = storage.bits();
      storage.poison();
      plan.launch();
      different += storage.bits() == bits ? 0 : 1;
    }
  }
  const bool passed = wrong == 0 && different == 0;
  std::printf("%-4s %s: %d random tables, seed %llu: %d wrong, %d of %d repeats differ\n",
              passed ? "ok" : "FAIL", to_string(engine), ran, static_cast<unsigned long long>(seed), wrong,
              different, ran / 10);
  return passed;
}

void run_dropped_release(const kernels::GpuInfo& gpu, kernels::AttentionEngine engine) {
  Problem problem = sequence(2, 1024, 128, false);
  const KernelShape kernel = backward::best_kernel(problem, engine);
  Storage storage(gpu, problem, 0, 7);
  const ScheduleTable table = *table_of(problem, kernel, "shift", 16);
  const backward::FaultInjection faults{0, 3, 20000};
  const backward::Plan plan(gpu, problem, kernel, table.problem, table.schedule, Turns::kOrdered,
                            storage.tensors(), faults);
  plan.launch();
  kernels::synchronize();
}

}  // namespace natten_sim::bench

#include "check.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

#include "tables.hpp"

namespace natten_sim::bench {
namespace {

using backward::KernelShape;
using backward::Problem;
using backward::Turns;

struct Case {
  std::string name;
  Problem problem;
  KernelShape kernel;
  std::string algorithm = "ascending";
  std::int32_t workers = 132;
  Turns turns = Turns::kOrdered;
  std::int64_t padding = 0;
  int repeats = 2;
  unsigned delay_ns = 0;
};

std::string describe(const KernelShape& shape) {
  return "hd" + std::to_string(shape.head_dim) + (shape.dtype == Dtype::kFp16 ? " fp16 " : " bf16 ") +
         std::to_string(shape.q_tile) + "x" + std::to_string(shape.kv_tile) + " " +
         backward::to_string(shape.pipeline);
}

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
      table_of(test.problem, test.kernel, test.algorithm, test.workers);
  if (!table) {
    std::printf("FAIL %s: %s does not apply\n", test.name.c_str(), test.algorithm.c_str());
    return false;
  }
  const backward::FaultInjection faults{test.delay_ns, std::nullopt};
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
  for (int i = 1; i < test.repeats; ++i) {
    storage.poison();
    plan.launch();
    Storage::Bits again = storage.bits();
    if (test.turns == Turns::kUnordered) again.dq = bits.dq;
    different += again == bits ? 0 : 1;
  }
  const bool passed = off.within_bound() && oracle < 1e-10 && overwritten == 0 && different == 0;
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

Case make_case(const KernelShape& kernel, std::int64_t heads, std::int64_t heads_kv, std::int64_t q_tokens,
               std::int64_t kv_tokens, const backward::Band& mask, const std::string& algorithm,
               const std::string& what) {
  Case made;
  made.problem.heads = heads;
  made.problem.heads_kv = heads_kv;
  made.problem.q_tokens = q_tokens;
  made.problem.kv_tokens = kv_tokens;
  made.problem.head_dim = kernel.head_dim;
  made.problem.dtype = kernel.dtype;
  made.problem.mask = mask;
  made.kernel = kernel;
  made.algorithm = algorithm;
  made.name = describe(kernel) + " " + what + " " + algorithm;
  return made;
}

const backward::Band kFull{}, kCausal{std::nullopt, 0};

void add_every_kernel(std::vector<Case>& cases) {
  for (const KernelShape& kernel : backward::built_kernels()) {
    cases.push_back(make_case(kernel, 1, 1, kernel.q_tile, 128, kFull, "ascending", "one tile"));
    cases.push_back(make_case(kernel, 1, 1, 256, 128, kFull, "ascending", "one chain"));
    cases.push_back(make_case(kernel, 1, 1, 128, 256, kFull, "ascending", "two chains"));
    cases.push_back(make_case(kernel, 2, 2, 1000, 1000, kFull, "shift", "full 1000"));
    cases.push_back(make_case(kernel, 3, 3, 777, 777, kCausal, "descending", "causal 777"));
    cases.back().problem.batch = 2;
    cases.back().padding = 77;
  }
}

void add_problems(std::vector<Case>& cases, const KernelShape& kernel) {
  for (const std::int64_t tokens : {1, 2, 15, 63, 64, 65, 127, 128, 129, 255, 257, 640}) {
    cases.push_back(
        make_case(kernel, 2, 1, tokens, tokens, kCausal, "spt", "causal gqa " + std::to_string(tokens)));
    cases.back().padding = 200;
    cases.push_back(
        make_case(kernel, 2, 2, tokens, 300, kFull, "ascending", "full " + std::to_string(tokens) + "x300"));
    cases.back().padding = 200;
  }
  cases.push_back(make_case(kernel, 8, 2, 600, 1500, kCausal, "descending", "causal gqa 600x1500"));
  cases.push_back(
      make_case(kernel, 8, 2, 1500, 600, kCausal, "descending", "causal 1500x600, rows without keys"));
  cases.push_back(make_case(kernel, 4, 2, 2000, 2000, {300, 0}, "best", "window 300,0"));
  cases.push_back(make_case(kernel, 4, 2, 2000, 2500, {100, 50}, "best", "window 100,50 2000x2500"));
  cases.push_back(make_case(kernel, 4, 4, 1024, 1024, {0, 0}, "ascending", "window 0,0"));
  cases.push_back(make_case(kernel, 4, 4, 1024, 1024, kFull, "shift", "scale 0.5"));
  cases.back().problem.scale = 0.5;
  cases.push_back(make_case(kernel, 4, 4, 1024, 1024, kFull, "shift", "scale 1e-3"));
  cases.back().problem.scale = 1e-3;
}

void add_orders(std::vector<Case>& cases, const KernelShape& kernel) {
  for (const bool causal : {false, true}) {
    for (const char* algorithm : {"ascending", "descending", "spt", "shift", "symmetric-shift", "best"}) {
      if (!causal && std::string(algorithm) == "symmetric-shift") continue;
      for (const std::int32_t workers : {5, 132}) {
        cases.push_back(
            make_case(kernel, 6, 6, 2048, 2048, causal ? kCausal : kFull, algorithm,
                      std::string(causal ? "causal" : "full") + " 2048 on " + std::to_string(workers)));
        cases.back().workers = workers;
        cases.back().repeats = 20;
        cases.back().delay_ns = 3000;
      }
    }
  }
  cases.push_back(make_case(kernel, 6, 6, 2048, 2048, kFull, "shift", "unordered"));
  cases.back().turns = Turns::kUnordered;
  cases.back().repeats = 10;
}

void add_long(std::vector<Case>& cases, const KernelShape& kernel) {
  cases.push_back(make_case(kernel, 4, 4, 4096, 4096, kFull, "shift", "full 4096, 200 repeats"));
  cases.push_back(
      make_case(kernel, 4, 4, 4096, 4096, kCausal, "symmetric-shift", "causal 4096, 200 repeats"));
  for (std::size_t i = cases.size() - 2; i < cases.size(); ++i) cases[i].repeats = 200;
  cases.push_back(make_case(kernel, 1, 1, 16384, 16384, kFull, "shift", "full 16384"));
  cases.push_back(make_case(kernel, 1, 1, 16384, 16384, kCausal, "spt", "causal 16384"));
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_every_kernel(cases);
  for (const std::int64_t head_dim : {128, 64}) {
    Problem problem;
    problem.head_dim = head_dim;
    const KernelShape kernel = backward::best_kernel(problem);
    add_problems(cases, kernel);
    add_orders(cases, kernel);
    add_long(cases, kernel);
  }
  return cases;
}

/// Exchanges two neighbours in the order of some dQ tile such that the table still finishes.
bool swap_two_turns(const Problem& problem, const KernelShape& kernel, ScheduleTable& table) {
  for (std::vector<std::int32_t>& order : table.schedule.dq_order) {
    for (std::size_t i = 2; i < order.size(); ++i) {  // the first two commute: x + y is y + x
      std::swap(order[i - 1], order[i]);
      try {
        backward::require_runnable(problem, kernel, table.problem, table.schedule);
        return true;
      } catch (const InvalidParameter&) {
        std::swap(order[i - 1], order[i]);
      }
    }
  }
  return false;
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
bool run_swapped(const kernels::GpuInfo& gpu) {
  Problem problem = sequence(4, 2048, 128, false);
  const KernelShape kernel = backward::best_kernel(problem);
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
  if (!swap_two_turns(problem, kernel, table)) {
    std::printf("FAIL swapped turns: no table that finishes\n");
    return false;
  }
  const Storage::Bits after = bits();
  const bool passed = before.dk == after.dk && before.dv == after.dv && before.dq != after.dq;
  std::printf("%-4s two turns of one dQ tile exchanged: dQ %s, dK and dV %s\n", passed ? "ok" : "FAIL",
              before.dq != after.dq ? "differs" : "is the same",
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
        table_of(test.problem, test.kernel, test.algorithm, test.workers);
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
    if (test.name.find(filter) == std::string::npos) continue;
    ++ran;
    failed += run(gpu, test, seed + static_cast<std::uint64_t>(ran), dump) ? 0 : 1;
  }
  if (filter.empty()) {
    ++ran;
    failed += run_swapped(gpu) ? 0 : 1;
  }
  std::printf("%d of %d checks passed\n", ran - failed, ran);
  return failed == 0 && ran > 0;
}

bool run_random_tables(const kernels::GpuInfo& gpu, int count) {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1000003;
  std::mt19937_64 random(seed);
  int wrong = 0, different = 0, ran = 0;
  for (const bool causal : {false, true}) {
    Problem problem = sequence(3, 1100, 128, causal);
    const KernelShape kernel = backward::best_kernel(problem);
    Storage storage(gpu, problem, 0, seed);
    const backward::Reference reference = backward::reference_on_gpu(problem, storage.tensors());
    for (int i = 0; i < count / 2; ++i, ++ran) {
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
  std::printf("%-4s %d random tables, seed %llu: %d wrong, %d of %d repeats differ\n", passed ? "ok" : "FAIL",
              ran, static_cast<unsigned long long>(seed), wrong, different, ran / 10);
  return passed;
}

void run_dropped_release(const kernels::GpuInfo& gpu) {
  Problem problem = sequence(2, 1024, 128, false);
  const KernelShape kernel = backward::best_kernel(problem);
  Storage storage(gpu, problem, 0, 7);
  const ScheduleTable table = *table_of(problem, kernel, "shift", 16);
  const backward::FaultInjection faults{0, 3, 20000};
  const backward::Plan plan(gpu, problem, kernel, table.problem, table.schedule, Turns::kOrdered,
                            storage.tensors(), faults);
  plan.launch();
  kernels::synchronize();
}

}  // namespace natten_sim::bench

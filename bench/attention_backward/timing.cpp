#include "timing.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "tables.hpp"

namespace natten_sim::bench {
namespace {

using backward::KernelShape;
using backward::Plan;
using backward::Problem;
using backward::Turns;

constexpr int kInputSets = 2;

struct Variant {
  std::string name;
  KernelShape kernel;
  ScheduleTable table;
  Turns turns = Turns::kOrdered;
  std::optional<backward::Draws> draws;  ///< none: as a launch chooses
};

double operations(const Problem& problem) {
  return 10.0 * static_cast<double>(problem.q_tokens) * static_cast<double>(problem.kv_tokens) *
         static_cast<double>(problem.head_dim * problem.heads * problem.batch) *
         (problem.mask.right ? 0.5 : 1.0);
}

double median(std::vector<float> list) {
  std::sort(list.begin(), list.end());
  return list[list.size() / 2];
}

/// How often each variant runs, and how long the GPU rests before each launch. Without a rest it runs at its
/// power limit, and its clock falls by a tenth.
struct Pace {
  int repetitions = 11;
  int rest_ms = 0;
};

/// Prints the median milliseconds of each variant, which take turns, all three kernels of a launch included.
/// The first variant is what ratios refer to.
void time_variants(const kernels::GpuInfo& gpu, const Problem& problem, const std::vector<Variant>& variants,
                   std::vector<Storage>& sets, const Pace& pace, const char* what) {
  kernels::L2Flusher flusher(gpu);
  std::vector<std::vector<Plan>> plans(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    backward::FaultInjection choice;
    choice.draws = variants[i].draws;
    for (Storage& set : sets) {
      plans[i].emplace_back(gpu, problem, variants[i].kernel, variants[i].table.problem,
                            variants[i].table.schedule, variants[i].turns, set.tensors(), choice);
      plans[i].back().launch();
    }
  }
  kernels::synchronize();
  std::vector<std::vector<float>> times(variants.size()), alone(variants.size());
  const auto rested_ms = [&](const std::function<void()>& work) {
    kernels::synchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(pace.rest_ms));
    return kernels::time_with_events(work, 1, [&] { flusher.start(); })[0];
  };
  for (int repetition = 0; repetition < pace.repetitions; ++repetition) {
    for (std::size_t turn = 0; turn < variants.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(repetition)) % variants.size();
      const Plan& plan = plans[i][static_cast<std::size_t>(repetition) % sets.size()];
      times[i].push_back(rested_ms([&] { plan.launch(); }));
      alone[i].push_back(rested_ms([&] { plan.launch_kernel(); }));
    }
  }
  const double base = median(times[0]);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const double all = median(times[i]), kernel = median(alone[i]);
    std::printf("%s hd%lld %-6s %lld %-34s %.4f ms  %.1f TFLOP/s  ratio %.4f  kernel alone %.4f ms %.1f\n",
                what, static_cast<long long>(problem.head_dim), problem.mask.right ? "causal" : "full",
                static_cast<long long>(problem.q_tokens), variants[i].name.c_str(), all,
                operations(problem) / all / 1e9, base / all, kernel, operations(problem) / kernel / 1e9);
  }
  std::fflush(stdout);
}

std::vector<Storage> input_sets(const kernels::GpuInfo& gpu, Problem& problem) {
  std::vector<Storage> sets;
  for (int i = 0; i < kInputSets; ++i) sets.emplace_back(gpu, problem, 0, 17 + static_cast<std::uint64_t>(i));
  return sets;
}

void add(std::vector<Variant>& to, const Problem& problem, const KernelShape& kernel,
         const std::string& algorithm, std::int32_t workers, Turns turns, const std::string& name) {
  const std::optional<ScheduleTable> table = table_of(problem, kernel, algorithm, workers);
  if (table) to.push_back({name, kernel, *table, turns});
}

std::vector<Variant> ladder(const kernels::GpuInfo& gpu, const Problem& problem) {
  std::vector<Variant> variants;
  for (const KernelShape& kernel : backward::built_kernels()) {
    if (kernel.head_dim != problem.head_dim || kernel.dtype != Dtype::kBf16) continue;
    if (kernel.pairs != (problem.pairs != nullptr)) continue;
    if (!runs_on(gpu, kernel.engine)) continue;
    const bool wgmma = kernel.engine == kernels::AttentionEngine::kWgmma;
    const std::string step = std::to_string(kernel.q_tile) + "x" + std::to_string(kernel.kv_tile) + " " +
                             (wgmma ? backward::to_string(kernel.pipeline) : to_string(kernel.engine));
    const std::string algorithm = !problem.mask.right   ? "shift"
                                  : kernel.q_tile == 80 ? "spt"
                                                        : "symmetric-shift";
    const std::int64_t kv_tiles = (problem.kv_tokens + kernel.kv_tile - 1) / kernel.kv_tile;
    const std::string together =
        std::to_string((gpu.sms + kv_tiles - 1) / kv_tiles);  // heads that fill the GPU
    add(variants, problem, kernel, "ascending+sections:" + together, gpu.sms, Turns::kUnordered,
        step + ", unordered");
    add(variants, problem, kernel, algorithm, gpu.sms, Turns::kOrdered, step + ", " + algorithm);
    if (!problem.mask.right)
      add(variants, problem, kernel, "shift+spread:1", gpu.sms, Turns::kOrdered, step + ", shift+spread:1");
  }
  return variants;
}

}  // namespace

void time_orders(const kernels::GpuInfo& gpu, std::int64_t tokens, std::int64_t head_dim, int rest_ms,
                 const std::vector<std::string>& tables) {
  for (const bool causal : {false, true}) {
    Problem problem = sequence(2048 / head_dim, tokens, head_dim, causal);
    problem.batch = 16384 / tokens;
    std::vector<Storage> sets = input_sets(gpu, problem);
    const KernelShape kernel = backward::best_kernel(problem, best_engine(gpu));
    std::vector<Variant> variants;
    const std::int32_t workers = gpu.sms;
    for (const char* algorithm : {"ascending", "descending", "spt", "shift", "symmetric-shift"}) {
      add(variants, problem, kernel, algorithm, workers, Turns::kUnordered,
          std::string("unordered, lists of ") + algorithm);
    }
    for (const char* algorithm : {"ascending", "descending", "spt", "shift", "symmetric-shift"}) {
      add(variants, problem, kernel, algorithm, workers, Turns::kOrdered, algorithm);
      if (variants.empty() || variants.back().table.schedule.dispatch == Dispatch::kStatic) continue;
      Variant other = variants.back();  // under the rule that the launch does not choose
      const bool early =
          backward::best_draws(other.table.problem, other.table.schedule) == backward::Draws::kEarly;
      other.draws = early ? backward::Draws::kInTime : backward::Draws::kEarly;
      other.name += early ? ", drawn in time" : ", drawn early";
      variants.push_back(std::move(other));
    }
    for (std::int64_t heads = 1; heads <= std::min<std::int64_t>(problem.heads * problem.batch, 64);
         heads *= 2) {
      const std::string name = "shift+spread:" + std::to_string(heads);
      add(variants, problem, kernel, name, workers, Turns::kOrdered, name);
    }
    for (const std::string& path : tables) {
      const ScheduleTable table = read_table(path);
      try {
        backward::require_runnable(problem, kernel, table.problem, table.schedule);
      } catch (const InvalidParameter&) {
        continue;  // made for another problem
      }
      const std::string name = path.substr(path.rfind('/') + 1);
      variants.push_back({name, kernel, table, Turns::kOrdered});
      variants.push_back({name + ", unordered", kernel, table, Turns::kUnordered});
    }
    time_variants(gpu, problem, variants, sets, {.rest_ms = rest_ms}, "orders");
  }
}

void time_ladder(const kernels::GpuInfo& gpu, std::int64_t tokens, std::int64_t head_dim, int rest_ms) {
  for (const bool causal : {false, true}) {
    Problem problem = sequence(2048 / head_dim, tokens, head_dim, causal);
    std::vector<Storage> sets = input_sets(gpu, problem);
    time_variants(gpu, problem, ladder(gpu, problem), sets, {.repetitions = 7, .rest_ms = rest_ms}, "ladder");
  }
}

void time_groups(const kernels::GpuInfo& gpu, std::int64_t tokens, std::int64_t head_dim) {
  for (const bool causal : {false, true}) {
    Problem problem = sequence(2048 / head_dim, tokens, head_dim, causal);
    problem.heads_kv = problem.heads / 4;
    std::vector<Storage> sets = input_sets(gpu, problem);
    const KernelShape kernel = backward::best_kernel(problem, best_engine(gpu));
    std::vector<Variant> variants;
    for (const Turns turns : {Turns::kUnordered, Turns::kOrdered}) {
      for (const bool grouped : {false, true}) {
        const std::optional<ScheduleTable> table =
            table_of(problem, kernel, causal ? "best" : "shift", gpu.sms, 0, grouped);
        if (!table) continue;
        variants.push_back({std::string("chains of a ") + (grouped ? "group" : "head") +
                                (turns == Turns::kOrdered ? ", ordered" : ", unordered"),
                            kernel, *table, turns});
      }
    }
    time_variants(gpu, problem, variants, sets, {}, "groups");
  }
}

void launch_once(const kernels::GpuInfo& gpu, std::int64_t tokens) {
  Problem problem = sequence(16, tokens, 128, false);
  Storage storage(gpu, problem, 0, 17);
  for (const Variant& variant : ladder(gpu, problem)) {
    if (variant.turns == Turns::kUnordered) continue;
    Plan(gpu, problem, variant.kernel, variant.table.problem, variant.table.schedule, variant.turns,
         storage.tensors())
        .launch();
    kernels::synchronize();
  }
}

void record_turns(const kernels::GpuInfo& gpu, std::int64_t tokens, const std::string& folder,
                  std::int64_t heads, std::int32_t workers) {
  for (const bool causal : {false, true}) {
    Problem problem = sequence(heads, tokens, 128, causal);
    const KernelShape kernel = backward::best_kernel(problem, best_engine(gpu));
    Storage storage(gpu, problem, 0, 3);
    for (const char* algorithm : {"ascending", "descending", "spt", "shift", "symmetric-shift", "best"}) {
      const std::optional<ScheduleTable> table = table_of(problem, kernel, algorithm, workers);
      if (!table) continue;
      const BlockMask& mask = table->problem.mask;
      const std::size_t cells = static_cast<std::size_t>(table->problem.heads) * mask.work.size();
      kernels::DeviceBuffer buffer(cells * sizeof(backward::TurnTimes));
      buffer.fill(0);
      const Plan plan(gpu, problem, kernel, table->problem, table->schedule, Turns::kOrdered,
                      storage.tensors());
      plan.launch();
      plan.launch(&buffer);
      std::vector<backward::TurnTimes> times(cells);
      buffer.copy_to_host(times.data(), buffer.bytes());
      const std::string name = folder + "/" + algorithm + (causal ? "-causal" : "-full");
      std::ofstream(name + ".json") << to_json(*table);
      std::ofstream file(name + ".csv");
      file << "head,q_tile,kv_tile,worker,ready_ns,turn_ns,end_ns\n";
      std::uint64_t first = ~std::uint64_t{0};
      for (const backward::TurnTimes& t : times) first = t.end_ns == 0 ? first : std::min(first, t.ready_ns);
      for (std::size_t i = 0; i < cells; ++i) {
        if (times[i].end_ns == 0) continue;
        const auto kv = i % static_cast<std::size_t>(mask.kv_tiles),
                   q = i / static_cast<std::size_t>(mask.kv_tiles);
        file << q / static_cast<std::size_t>(mask.q_tiles) << ','
             << q % static_cast<std::size_t>(mask.q_tiles) << ',' << kv << ',' << times[i].worker << ','
             << times[i].ready_ns - first << ','
             << (times[i].turn_ns == 0 ? times[i].ready_ns : times[i].turn_ns) - first << ','
             << times[i].end_ns - first << '\n';
      }
    }
  }
}

}  // namespace natten_sim::bench

#include "step.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include <natten_sim/validate/measure/range_profiler.hpp>

#include "tensors.hpp"

namespace natten_sim::bench {
namespace {

using forward::Dispatch;
using forward::KernelShape;
using forward::Problem;
using forward::Schedule;
using kernels::ItemInterval;

struct Variant {
  std::string name;
  KernelShape kernel;
  Schedule schedule;
  bool zeros = false;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// DRAM reads and L2 answers of one launch each; zeros where no counter can be read.
std::vector<double> count(const kernels::GpuInfo& gpu, const forward::Plan& plan) {
  std::string reason;
  const auto profiler = validate::RangeProfiler::open(
      gpu.index,
      {"dram__bytes_read.sum", "lts__t_sectors_srcunit_tex.sum", "l1tex__m_xbar2l1tex_read_sectors.sum"},
      reason);
  if (profiler == nullptr) {
    std::printf("no counters: %s\n", reason.c_str());
    return {0, 0, 0};
  }
  return profiler->measure([&] { plan.launch(); });
}

std::vector<ItemInterval> intervals_of(const forward::Plan& plan, std::size_t items) {
  kernels::DeviceBuffer buffer(items * sizeof(ItemInterval));
  plan.launch(&buffer);
  kernels::synchronize();
  std::vector<ItemInterval> intervals(items);
  buffer.copy_to_host(intervals.data(), buffer.bytes());
  return intervals;
}

/// Microseconds between the first and the last of `width` items, from number `first` on, to begin.
double spread_us(const std::vector<ItemInterval>& items, std::size_t first, std::size_t width) {
  const auto [low, high] = std::minmax_element(
      items.begin() + static_cast<std::ptrdiff_t>(first),
      items.begin() + static_cast<std::ptrdiff_t>(first + width),
      [](const ItemInterval& a, const ItemInterval& b) { return a.begin_ns < b.begin_ns; });
  return static_cast<double>(high->begin_ns - low->begin_ns) / 1e3;
}

void print_steps(const std::string& name, const std::vector<ItemInterval>& items, std::size_t ctas) {
  std::map<std::uint32_t, std::vector<double>> of_sm;
  for (const ItemInterval& item : items)
    of_sm[item.sm].push_back(static_cast<double>(item.end_ns - item.begin_ns) / 1e3);
  std::vector<double> means, deviations;
  for (const auto& [sm, times] : of_sm) {
    const double mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    std::vector<double> off;
    for (const double time : times) off.push_back(std::abs(time - mean) / mean);
    means.push_back(mean);
    deviations.push_back(median(off));
  }
  std::sort(means.begin(), means.end());
  std::printf(
      "  %s: item %.1f us, SMs' means %.4f to %.4f of it (middle half %.4f to %.4f), typical item %.2f%% off "
      "its SM's mean\n",
      name.c_str(), median(means), means.front() / median(means), means.back() / median(means),
      means[means.size() / 4] / median(means), means[means.size() * 3 / 4] / median(means),
      100 * median(deviations));
  std::printf("  %s: rounds begin within", name.c_str());
  const std::size_t rounds = items.size() / ctas;
  for (std::size_t i = 0; i < 8; ++i) std::printf(" %.0f", spread_us(items, rounds * i / 8 * ctas, ctas));
  std::printf(" us\n");
}

void write_csv(const std::string& path, const std::string& name, const std::vector<ItemInterval>& items) {
  if (path.empty()) return;
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (file == nullptr) return;
  const auto first =
      std::min_element(items.begin(), items.end(), [](const ItemInterval& a, const ItemInterval& b) {
        return a.begin_ns < b.begin_ns;
      })->begin_ns;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::fprintf(file, "%s,%zu,%u,%u,%llu,%llu\n", name.c_str(), i, items[i].cta, items[i].sm,
                 static_cast<unsigned long long>(items[i].begin_ns - first),
                 static_cast<unsigned long long>(items[i].end_ns - first));
  }
  std::fclose(file);
}

void examine(const kernels::GpuInfo& gpu, const Problem& problem, const Variant& variant, Storage& storage,
             std::size_t items, double operations, const std::string& csv) {
  const forward::Plan plan(gpu, problem, variant.kernel, variant.schedule, storage.tensors());
  kernels::L2Flusher flusher(gpu);
  plan.launch();
  std::vector<double> times;
  for (const float ms : kernels::time_with_events([&] { plan.launch(); }, 3, [&] { flusher.start(); }))
    times.push_back(ms);
  const std::vector<double> counted = count(gpu, plan);
  std::printf(
      "step hd%lld %lld x %lld %-34s %.3f ms  %.1f TFLOP/s  DRAM %.2f GB  L2 answers %.2f of %.2f G "
      "sectors\n",
      static_cast<long long>(problem.head_dim), static_cast<long long>(problem.heads),
      static_cast<long long>(problem.q_tokens), variant.name.c_str(), median(times),
      operations / median(times) / 1e9, counted[0] / 1e9, counted[1] / 1e9, counted[2] / 1e9);
  const std::vector<ItemInterval> intervals = intervals_of(plan, items);
  print_steps(variant.name, intervals, static_cast<std::size_t>(gpu.sms));
  write_csv(csv, variant.name, intervals);
  std::fflush(stdout);
}

/// The best kernel by static turns and tickets, the loop without maxima with two and three K stages, the loop
/// with maxima, and the best on zeros, where power does not bind.
std::vector<Variant> variants_of(const Problem& problem) {
  const KernelShape best = forward::best_kernel(problem);
  Schedule fixed, ticket;
  ticket.dispatch = Dispatch::kTicket;
  std::vector<Variant> made = {{"static", best, fixed}, {"tickets", best, ticket}};
  for (const KernelShape& built : forward::built_kernels()) {
    if (built.head_dim != problem.head_dim || built.dtype != problem.dtype || built.neighborhood) continue;
    if (!built.joined || built == best || built.kv_tile != best.kv_tile || built.q_tile != best.q_tile)
      continue;
    made.push_back({"k" + std::to_string(built.stages) + "v" + std::to_string(built.v_stages) + " " +
                        to_string(built.rescale),
                    built, fixed});
  }
  made.push_back({"zeros", best, fixed, true});
  return made;
}

}  // namespace

void time_step(const kernels::GpuInfo& gpu, std::int64_t heads, std::int64_t tokens, std::int64_t head_dim,
               const std::string& csv) {
  Problem problem = sequence(heads, tokens, head_dim, false);
  Storage storage(problem, HeadLayout::kHeadsLast, 0, 17);
  const double operations =
      4.0 * static_cast<double>(tokens) * static_cast<double>(tokens) * static_cast<double>(head_dim * heads);
  for (const Variant& variant : variants_of(problem)) {
    if (variant.zeros) storage.zero_inputs();
    const std::int64_t q_tile = variant.kernel.q_tile;
    const auto items = static_cast<std::size_t>(heads * ((tokens + q_tile - 1) / q_tile));
    examine(gpu, problem, variant, storage, items, operations, csv);
  }
}

}  // namespace natten_sim::bench

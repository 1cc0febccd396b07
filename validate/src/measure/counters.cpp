#include <algorithm>
#include <array>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/measure/counters.hpp>

namespace natten_sim::validate {
namespace {

constexpr std::array<std::string_view, 4> kChips = {"GA100", "GH100", "GB100", "GB202"};
constexpr std::string_view kEveryChip = "GA100,GH100,GB100,GB202";
constexpr std::string_view kHbmChips = "GA100,GH100,GB100";

constexpr CounterSpec kCounters[] = {
    {"l2_read_sectors", "l1tex__m_xbar2l1tex_read_sectors.sum", "sector", 1,
     "32-byte sectors that came back from the L2 to the L1s: every load that missed in L1, before and after "
     "any "
     "coalescing in between",
     kEveryChip},
    {"l2_tex_sectors", "lts__t_sectors_srcunit_tex.sum", "sector", 1,
     "sectors of L1 requests that the L2 slices looked up; fewer than l2_read_sectors where identical "
     "requests of "
     "several SMs are merged on the way",
     kEveryChip},
    {"l2_tex_miss_sectors", "lts__t_sectors_srcunit_tex_lookup_miss.sum", "sector", 1,
     "of those, sectors that were not in the slice", kEveryChip},
    {"l2_fabric_sectors", "lts__t_sectors_srcunit_ltcfabric.sum", "sector", 1,
     "sectors that one partition of the L2 asked of another", kHbmChips},
    {"l2_reduction_sectors", "lts__t_sectors_op_red.sum", "sector", 1,
     "sectors of reductions without return value", kEveryChip},
    {"l2_atomic_sectors", "lts__t_sectors_op_atom.sum", "sector", 1, "sectors of atomics with return value",
     kEveryChip},
    {"l1_reduction_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", "sector", 1,
     "sectors of reductions that SMs sent", kEveryChip},
    {"l1_atomic_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", "sector", 1,
     "sectors of atomics with return value that SMs sent, retries included", kEveryChip},
    {"busiest_slice_cycles", "lts__d_atomic_input_cycles_active.max", "cycle", 1,
     "cycles in which the L2 slice with the most atomics took one in", kEveryChip},
    {"l2_cycles", "lts__cycles_elapsed.max", "cycle", 1, "cycles of the L2's clock in the range", kEveryChip},
    {"dram_read_bytes", "dram__bytes_read.sum", "byte", 1, "bytes read from device memory", kHbmChips},
    {"dram_read_bytes", "dram__bytes_op_read.sum", "byte", 1, "bytes read from device memory", "GB202"},
    {"dram_write_bytes", "dram__bytes_write.sum", "byte", 1, "bytes written to device memory", kHbmChips},
    {"dram_write_bytes", "dram__bytes_op_write.sum", "byte", 1, "bytes written to device memory", "GB202"},
    {"warp_instructions", "sm__inst_executed.sum", "instruction", 1, "instructions that warps executed",
     kEveryChip},
    {"l1_wavefronts", "l1tex__data_pipe_lsu_wavefronts.sum", "wavefront", 1,
     "turns of the L1's data stage for loads, stores and atomics", kEveryChip},
    {"active_warps_fraction", "sm__warps_active.avg.pct_of_peak_sustained_active", "fraction", 0.01,
     "resident warps over the most that fit, while an SM is active", kEveryChip},
    {"gpu_time_ns", "gpu__time_duration.sum", "ns", 1, "from the start to the end of the range on the GPU",
     kEveryChip},
};

}  // namespace

std::span<const CounterSpec> counter_table() noexcept { return kCounters; }

const CounterSpec& counter(std::string_view label) {
  std::vector<std::string> names;
  std::string known;
  for (const CounterSpec& spec : kCounters) {
    if (spec.label == label) return spec;
    names.emplace_back(spec.label);
    known += (known.empty() ? "" : ", ") + names.back();
  }
  const std::string name(label);
  throw UnknownName("counter", name, closest_name(name, names), known);
}

const CounterSpec* counter_on(std::string_view label, std::string_view chip) {
  (void)counter(label);
  const auto* const found =
      std::find_if(std::begin(kCounters), std::end(kCounters),
                   [&](const CounterSpec& spec) { return spec.label == label && exists_on(spec, chip); });
  return found == std::end(kCounters) ? nullptr : found;
}

std::vector<const CounterSpec*> counters_on(const std::vector<std::string>& labels, std::string_view chip) {
  const bool known = std::find(kChips.begin(), kChips.end(), chip) != kChips.end();
  std::vector<const CounterSpec*> specs;
  for (const std::string& label : labels) {
    const CounterSpec* const spec = known ? counter_on(label, chip) : &counter(label);
    if (spec != nullptr) specs.push_back(spec);
  }
  return specs;
}

const CounterSpec* find_metric(std::string_view metric) noexcept {
  const auto* const found = std::find_if(std::begin(kCounters), std::end(kCounters),
                                         [&](const CounterSpec& spec) { return spec.metric == metric; });
  return found == std::end(kCounters) ? nullptr : found;
}

bool exists_on(const CounterSpec& counter, std::string_view chip) noexcept {
  std::string_view rest = counter.chips;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == chip) return true;
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return false;
}

std::span<const std::string_view> counter_chips() noexcept { return kChips; }

}  // namespace natten_sim::validate

#include <algorithm>
#include <tuple>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/search/schedules/backward_kernel.hpp>

namespace natten_sim {
namespace schedules {

std::vector<BackwardKernel> built_in_backward_kernels();  // written by CMake: one entry a file of kernels/

namespace {

/// Q, dO and the fp32 dQ.
std::int64_t bytes_of_head(const BackwardCall& call) {
  return call.q_tokens * call.head_dim * (2 * call.element_bytes + 4);
}

}  // namespace

std::int32_t heads_within(std::int64_t bytes, const BackwardCall& call, std::int64_t workers,
                          std::int64_t chains_of_head) {
  // Those at work, one that ends and one that begins.
  const std::int64_t busy = ceil_divide(workers, std::max<std::int64_t>(chains_of_head, 1)) + 2;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(bytes / bytes_of_head(call), busy, std::max<std::int64_t>(1 << 30, busy)));
}

HeadSections sections_within(std::int64_t bytes, const BackwardCall& call) {
  const std::int64_t a_head = bytes_of_head(call);
  HeadSections sections{1};
  while (2 * sections.heads_per_section * a_head <= bytes && sections.heads_per_section < (1 << 20))
    sections.heads_per_section *= 2;
  return sections;
}

double bytes_around(const BackwardCall& call) {
  constexpr double kFp32 = 4;
  const auto element = static_cast<double>(call.element_bytes);
  const double q_elements = static_cast<double>(call.batch * call.heads * call.q_tokens * call.head_dim);
  const double kv_elements = static_cast<double>(call.batch * call.heads_kv * call.kv_tokens * call.head_dim);
  const double bytes = q_elements * (3 * element + 2 * kFp32);
  return call.heads == call.heads_kv ? bytes : bytes + 2 * kv_elements * (element + 2 * kFp32);
}

}  // namespace schedules

BackwardCosts chain_costs(const ScheduleCostSet& costs, const TaskCosts& tasks, const BlockMask& mask,
                          Dispatch dispatch) {
  constexpr std::size_t kHiding = 3;  // tasks: a chain is drawn while the two before its end are computed
  BackwardCosts made = backward_costs(costs, tasks);
  if (dispatch == Dispatch::kStatic || tasks.draw_us == 0 || mask.kv_tiles == 0) return made;
  std::int32_t brief = 0;
  for (std::int32_t kv = 0; kv < mask.kv_tiles; ++kv)
    brief += attended_q_tiles(mask, kv).size() < kHiding ? 1 : 0;
  made.prologue += tasks.draw_us * brief / mask.kv_tiles;
  return made;
}

double call_us(const ScheduleCostSet& costs, const BackwardKernel& kernel, const BackwardCall& call,
               ReductionMode mode, double makespan_us) {
  constexpr double kUsOfS = 1e6, kUsOfMs = 1000;
  double us =
      makespan_us + costs.launch_us + kernel.other_bytes(call, mode) / costs.other_bytes_per_s * kUsOfS;
  if (mode == ReductionMode::kDeterministic) us += costs.ordered_launch_us;
  if (kernel.cleared_bytes != nullptr && costs.clearing_bytes_per_s > 0)
    us += kernel.cleared_bytes(call, mode) / costs.clearing_bytes_per_s * kUsOfS;
  return us * (1 + costs.slowdown * us / (us + kUsOfMs * costs.slowdown_ms));
}

const std::vector<BackwardKernel>& backward_kernels() {
  static const std::vector<BackwardKernel> kernels = [] {
    std::vector<BackwardKernel> all = schedules::built_in_backward_kernels();
    std::sort(all.begin(), all.end(), [](const BackwardKernel& a, const BackwardKernel& b) {
      return std::tie(a.position, a.name) < std::tie(b.position, b.name);
    });
    return all;
  }();
  return kernels;
}

const BackwardKernel& backward_kernel(std::string_view name) {
  std::vector<std::string> names;
  for (const BackwardKernel& kernel : backward_kernels()) {
    if (kernel.name == name) return kernel;
    names.push_back(kernel.name);
  }
  throw UnknownName("kernel", std::string(name), closest_name(name, names), joined(names));
}

}  // namespace natten_sim

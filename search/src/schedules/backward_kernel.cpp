#include <algorithm>
#include <initializer_list>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/search/schedules/backward_kernel.hpp>

namespace natten_sim {
namespace schedules {
namespace {

/// Q, dO and the fp32 dQ.
std::int64_t bytes_of_head(const BackwardCall& call) {
  return call.q_tokens * call.head_dim * (2 * call.element_bytes + 4);
}

constexpr double kFp32 = 4;

/// Bytes of the fp32 dQ.
double dq_bytes(const BackwardCall& call) {
  return kFp32 * static_cast<double>(call.batch * call.heads * call.q_tokens * call.head_dim);
}

std::int64_t product(std::initializer_list<std::int64_t> factors) {
  std::int64_t all = 1;
  for (const std::int64_t factor : factors) all = checked_multiply(all, factor, "workspace");
  return all;
}

/// What a launch adds dQ to, or stores for a pass of its own.
std::int64_t dq_memory(const KernelLaunch& rule, const BackwardCall& call) {
  constexpr std::int64_t kFloat = 4;
  if (rule.memory == KernelMemory::kScores)
    return product({call.batch, call.heads, call.q_tokens, call.kv_tokens, call.element_bytes});
  const std::int64_t copies = rule.memory == KernelMemory::kDqPerCta ? ctas_of_head(call) : 1;
  return product({copies, call.batch, call.heads, call.q_tokens, call.head_dim, kFloat});
}

std::int64_t workspace_bytes(const BackwardKernel& kernel, const KernelLaunch& rule,
                             const BackwardCall& call) {
  constexpr std::int64_t kFloat = 4, kCounter = 4;
  std::int64_t bytes = dq_memory(rule, call);
  const bool grouped = call.heads != call.heads_kv;
  if (grouped)
    bytes = checked_add(bytes, product({2, call.batch, call.heads_kv, call.kv_tokens, call.head_dim, kFloat}),
                        "workspace");
  if (rule.mode != ReductionMode::kDeterministic || rule.memory != KernelMemory::kOneDq) return bytes;
  const KernelTiles* tiles = kernel.tiles_of(call.head_dim, call.mask);
  if (tiles == nullptr) return bytes;
  const std::int64_t q_tiles = ceil_divide(call.q_tokens, tiles->tokens.q);
  bytes = checked_add(bytes, product({call.batch, call.heads, q_tiles, tiles->ctas, kCounter}), "workspace");
  if (!grouped) return bytes;
  const std::int64_t kv_tiles = ceil_divide(call.kv_tokens, tiles->tokens.kv);
  return checked_add(bytes, product({2, call.batch, call.heads_kv, kv_tiles, kCounter}), "workspace");
}

/// Pairs of chains close a triangle: as many keys as queries. Grouped heads would take turns at dK and dV besides.
bool takes_shape(const KernelLaunch& rule, const BackwardCall& call) {
  return rule.algorithm != "symmetric-shift" || (call.q_tokens == call.kv_tokens && call.heads == call.heads_kv);
}

/// The first launch of the mode that takes the call; null: there is none.
const KernelLaunch* launch_rule(const BackwardKernel& kernel, const BackwardCall& call, ReductionMode mode) {
  for (const KernelLaunch& rule : kernel.launches) {
    const bool fits = rule.mode == mode && rule.head_dims.contain(call.head_dim) && takes_shape(rule, call) &&
                      std::find(rule.masks.begin(), rule.masks.end(), call.mask) != rule.masks.end();
    if (fits && (!rule.memory_limit_bytes || dq_memory(rule, call) <= *rule.memory_limit_bytes)) return &rule;
  }
  return nullptr;
}

/// `text` with a number in place of `{name}`.
std::string with_number(std::string text, const std::string& name, std::int64_t number) {
  const std::string mark = "{" + name + "}";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark))
    text.replace(at, mark.size(), std::to_string(number));
  return text;
}

}  // namespace

std::int64_t ctas_of_head(const BackwardCall& call) {
  return ceil_divide(std::int64_t{call.sms}, call.batch * call.heads);
}

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
  const auto element = static_cast<double>(call.element_bytes);
  const double q_elements = static_cast<double>(call.batch * call.heads * call.q_tokens * call.head_dim);
  const double kv_elements = static_cast<double>(call.batch * call.heads_kv * call.kv_tokens * call.head_dim);
  const double bytes = q_elements * (3 * element + 2 * kFp32);
  return call.heads == call.heads_kv ? bytes : bytes + 2 * kv_elements * (element + 2 * kFp32);
}

double other_bytes(const BackwardKernel& kernel, const BackwardCall& call, ReductionMode mode) {
  double bytes = bytes_around(call);
  if (kernel.clearing == DqClearing::kNever) bytes -= dq_bytes(call);
  const KernelLaunch* rule = launch_rule(kernel, call, mode);
  // Every buffer is cleared; the sum reads them in the second phase of its schedule.
  if (rule != nullptr && rule->memory == KernelMemory::kDqPerCta)
    bytes += dq_bytes(call) * (static_cast<double>(ctas_of_head(call)) - 2);
  return bytes;
}

}  // namespace schedules

std::optional<BackwardLaunch> kernel_launch(const BackwardKernel& kernel, const BackwardCall& call,
                                            ReductionMode mode) {
  using namespace schedules;
  const KernelLaunch* rule = launch_rule(kernel, call, mode);
  if (rule == nullptr) return std::nullopt;
  BackwardLaunch launch{.algorithm = rule->algorithm,
                        .dispatch = rule->dispatch,
                        .walk = rule->walk,
                        .memory = rule->memory,
                        .dq_order = rule->dq_order,
                        .workspace_bytes = workspace_bytes(kernel, *rule, call)};
  if (rule->heads_per_section) launch.sections.heads_per_section = *rule->heads_per_section;
  if (rule->section_bytes) launch.sections = sections_within(*rule->section_bytes, call);
  const KernelTiles* tiles = kernel.tiles_of(call.head_dim, call.mask);
  if (rule->heads_within_l2 && call.l2_bytes && tiles != nullptr) {
    launch.heads_in_flight =
        heads_within(*call.l2_bytes, call, call.sms, ceil_divide(call.kv_tokens, tiles->tokens.kv));
  }
  launch.launch_order = with_number(rule->launch_order, "heads", launch.sections.heads_per_section);
  launch.launch_order = with_number(launch.launch_order, "ctas", ctas_of_head(call));
  return launch;
}

BackwardCosts chain_costs(const ScheduleCostSet& costs, const TaskCosts& tasks, const BlockMask& mask,
                          Dispatch dispatch, ReductionMode mode, double missing) {
  constexpr std::size_t kHiding = 3;  // tasks: a chain is drawn while the two before its end are computed
  BackwardCosts made = backward_costs(costs, tasks);
  if (mode == ReductionMode::kUnordered) {
    made.per_tile_tax = 0;
    return made;
  }
  made.epilogue += tasks.ordered_chain_us;
  for (double* cost : {&made.compute, &made.compute_partial}) *cost *= 1 + tasks.l2_misses * missing;
  if (dispatch == Dispatch::kStatic || tasks.draw_us == 0 || mask.kv_tiles == 0) return made;
  std::int32_t brief = 0;
  for (std::int32_t kv = 0; kv < mask.kv_tiles; ++kv)
    brief += attended_q_tiles(mask, kv).size() < kHiding ? 1 : 0;
  made.prologue += tasks.draw_us * brief / mask.kv_tiles;
  return made;
}

double missing_reads(double l2_kept, const BackwardCall& call, TileWalk walk, const HeadSections& sections) {
  if (walk != TileWalk::kSpread || sections.heads_per_section < 1 || !call.l2_bytes) return 0;
  const std::int64_t heads = std::min<std::int64_t>(sections.heads_per_section, call.batch * call.heads);
  const double section_bytes = static_cast<double>(heads) * static_cast<double>(schedules::bytes_of_head(call));
  return std::max(0.0, 1 - l2_kept * static_cast<double>(*call.l2_bytes) / section_bytes);
}

double call_us(const ScheduleCostSet& costs, const BackwardKernel& kernel, const BackwardCall& call,
               ReductionMode mode, double makespan_us) {
  constexpr double kUsOfS = 1e6, kUsOfMs = 1000;
  double us =
      makespan_us + costs.launch_us +
      schedules::other_bytes(kernel, call, mode) / costs.other_bytes_per_s * kUsOfS;
  if (mode == ReductionMode::kDeterministic) us += costs.ordered_launch_us;
  return us * (1 + costs.slowdown * us / (us + kUsOfMs * costs.slowdown_ms));
}

}  // namespace natten_sim

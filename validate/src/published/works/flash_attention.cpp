// What determinism costs FlashAttention's backward on other GPUs, masks and kernels than those that costs
// were fitted to: throughput when deterministic over throughput when not, as its pull requests give them
// (data/flash-attention-determinism.json). One set of costs, of FlashAttention-4 on an H200, stands for all;
// in a ratio the unit drops out. Beside it, the model without latencies.
#include <fmt/format.h>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/search/schedules/backward_kernel.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/validate/published/published_work.hpp>

namespace natten_sim::validate::works {
namespace {


constexpr std::int64_t kSectionBytes = std::int64_t{50} << 20;  // FlashAttention-4's

SequenceWindow window_named(const std::string& mask) {
  const auto read = parse_schedule_mask(mask);
  const auto& rule = std::get<ScheduleMask>(read).rule;
  if (const auto* window = std::get_if<SlidingWindowMask>(&rule)) return {window->left, window->right};
  if (std::holds_alternative<CausalMask>(rule)) return {std::nullopt, 0};
  return {};
}

ScheduleRequest request_for(const Json& point, const BackwardCosts& costs) {
  ScheduleRequest request;
  const std::int64_t tokens = point["tokens"];
  request.problem.mask =
      window_mask({tokens, tokens, point["q_tile"], point["kv_tile"]}, window_named(point["mask"]));
  request.problem.heads = point["heads"];
  request.problem.workers = point["workers"];
  request.walk = parse_name<TileWalk>(point.value("walk", std::string("in-order")));
  request.costs = costs;
  return request;
}

double makespan_with(const ScheduleRequest& request, const std::string& algorithm) {
  return run_plan(plan_backward(schedule_algorithm(algorithm), request)).makespan;
}

/// Throughput when deterministic over throughput when not.
double determinism_ratio(const Json& point, const BackwardCosts& costs) {
  ScheduleRequest request = request_for(point, costs);
  const double unordered = makespan_with(request, "unordered");
  BackwardCall call;
  call.q_tokens = call.kv_tokens = point["tokens"];
  call.head_dim = point["head_dim"];
  request.launch = schedules::sections_within(kSectionBytes, call);
  return unordered / makespan_with(request, point["algorithm"]);
}

std::vector<PublishedRow> determinism_rows(const study::Context& context) {
  const Json published = Json::parse(published_determinism_figures());
  const ScheduleCostSet& set = context.catalog.schedule_cost_set(published["costs"].get<std::string>());
  const BackwardCosts fitted = backward_costs(set, *set.tasks_of(MaskClass::kCausal));
  BackwardCosts zero;
  zero.compute = zero.compute_partial = published["zero_latency"]["compute"];
  zero.reduce = published["zero_latency"]["reduce"];
  const double tolerance = published["tolerance"];
  std::vector<PublishedRow> rows;
  for (const auto& [name, costs] : {std::pair{std::string("costs of ") + set.name, fitted},
                                    std::pair{std::string("zero latency"), zero}}) {
    for (const Json& point : published["points"]) {
      const double theirs = point["deterministic"].get<double>() / point["unordered"].get<double>();
      rows.push_back(number_row(fmt::format("{}: pull request {}", name, point["pull_request"].get<int>()),
                                point["item"], theirs, determinism_ratio(point, costs), tolerance));
      rows.back().published = fmt::format("{:.4f}", theirs);
      rows.back().fitted = false;
      if (name == "zero latency") mark_known(rows.back(), "for comparison");
    }
  }
  return rows;
}

}  // namespace

PublishedWork flash_attention() {
  return {.name = "flash-attention",
          .title = "what determinism costs FlashAttention's backward, from its pull requests",
          .position = 45,
          .reproduce = determinism_rows};
}

}  // namespace natten_sim::validate::works

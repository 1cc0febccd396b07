// What determinism costs FlashAttention's backward on other GPUs, masks and kernels than those that costs
// were fitted to: throughput when deterministic over throughput when not, as its pull requests give them
// (data/flash-attention-determinism.json). One set of costs, of FlashAttention-4 on an H200, stands for all;
// in a ratio the unit drops out. Beside it, the model without latencies.
#include <cmath>

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

/// Every attended tile partly masked, as a dilated window leaves it.
void make_partial(BlockMask& mask) {
  for (std::size_t cell = 0; cell < mask.work.size(); ++cell)
    if (mask.work[cell] == TileWork::kFull) mask.work[cell] = TileWork::kPartial;
}

ScheduleRequest request_for(const Json& point, const BackwardCosts& costs) {
  ScheduleRequest request;
  BackwardProblem& problem = request.problem;
  const std::int64_t tokens = point["tokens"];
  problem.mask = window_mask({tokens, point.value("kv_tokens", tokens), point["q_tile"], point["kv_tile"]},
                             window_named(point["mask"]));
  if (point.value("every_tile", std::string()) == "partial") make_partial(problem.mask);
  problem.heads = point["heads"];
  problem.heads_per_kv_head = problem.heads / point.value("heads_kv", problem.heads);
  problem.workers = point["workers"];
  request.walk = parse_name<TileWalk>(point.value("walk", std::string("in-order")));
  request.costs = costs;
  request.costs.reduce /= point.value("ctas_per_chain", 1);  // each of a pair reduces half of a dQ tile
  const double slower = point.value("compute_scale", 1.0);
  request.costs.compute *= slower;
  request.costs.compute_partial *= slower;
  return request;
}

double makespan_with(const ScheduleRequest& request, const std::string& algorithm) {
  return run_plan(plan_backward(schedule_algorithm(algorithm), request)).makespan;
}

/// Time when deterministic over time when not.
double slowdown(const Json& point, const BackwardCosts& costs) {
  ScheduleRequest request = request_for(point, costs);
  const double unordered = makespan_with(request, "unordered");
  BackwardCall call;
  call.q_tokens = call.kv_tokens = point["tokens"];
  call.head_dim = point["head_dim"];
  request.launch = schedules::sections_within(kSectionBytes, call);
  return makespan_with(request, point["algorithm"]) / unordered;
}

/// Throughputs are compared by their difference, times by their ratio.
PublishedRow row_of(const Json& published, const Json& point, const std::string& costs_name, double ours) {
  const bool times = point["unit"] == "ms";
  const double deterministic = point["deterministic"], unordered = point["unordered"];
  const double theirs = deterministic / unordered;
  PublishedRow row = number_row(
      fmt::format("{}: pull request {}", costs_name, point["pull_request"].get<int>()),
      fmt::format("{}, {}", point["item"].get<std::string>(), times ? "slowdown" : "throughput left"), theirs,
      times ? ours : 1 / ours, published[times ? "slowdown_tolerance" : "tolerance"]);
  row.published = fmt::format("{:.{}f}", theirs, times ? 2 : 4);
  row.fitted = false;
  row.place.unit = "of the throughput without order";
  if (times) {
    row.ours = fmt::format("{:.2f}", ours);
    row.relative = true;
    row.deviation = ours / theirs - 1;
    row.place.unit = "x";
    row.verdict = std::abs(row.deviation) <= row.tolerance ? Verdict::kWithin : Verdict::kOutside;
  }
  if (point.contains("mask_from"))
    row.note = "mask not stated, taken from " + point["mask_from"].get<std::string>();
  return row;
}

std::vector<PublishedRow> determinism_rows(const study::Context& context) {
  const Json published = Json::parse(published_determinism_figures());
  BackwardCosts zero;
  zero.compute = zero.compute_partial = published["zero_latency"]["compute"];
  zero.reduce = published["zero_latency"]["reduce"];
  std::vector<PublishedRow> rows;
  for (const bool latencies : {true, false}) {
    for (const Json& point : published["points"]) {
      const std::string name = point.value("costs", published["costs"].get<std::string>());
      const ScheduleCostSet& set = context.catalog.schedule_cost_set(name);
      const BackwardCosts fitted = backward_costs(set, *set.tasks_of(MaskClass::kCausal));
      rows.push_back(row_of(published, point, latencies ? "costs of " + set.name : "zero latency",
                            slowdown(point, latencies ? fitted : zero)));
      if (!latencies) {
        mark_known(rows.back(), "for comparison");
      } else if (point.contains("note")) {
        mark_known(rows.back(), point["note"]);
      }
    }
  }
  return rows;
}

}  // namespace

PublishedWork flash_attention() {
  return {.name = "flash-attention",
          .title = "what determinism costs FlashAttention's backward, from its pull requests",
          .source = "Pull requests of FlashAttention, github.com/Dao-AILab/flash-attention",
          .position = 45,
          .reproduce = determinism_rows,
          .figures = {"costs of fa4-h200-d128: pull request 2280", "costs of fa4-h200-d128: pull request 2270",
                      "costs of fa4-h200-d128: pull request 2512", "costs of fa4-h200-d64: pull request 2567",
                      "costs of fa4-h200-d128: pull request 2567", "zero latency: pull request 2280",
                      "zero latency: pull request 2270", "zero latency: pull request 2512",
                      "zero latency: pull request 2567"}};
}

}  // namespace natten_sim::validate::works

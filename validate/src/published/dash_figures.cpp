#include "published/dash_figures.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>

namespace natten_sim::validate {
namespace {

/// A known deviation is known to this.
constexpr double kKnownWithin = 5e-4;

/// Half of the smallest difference between two fitted ratios: closer than that ranks them right.
double ranking_tolerance(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  double smallest = 1;
  for (std::size_t i = 1; i < ratios.size(); ++i) smallest = std::min(smallest, ratios[i] - ratios[i - 1]);
  return smallest / 2;
}

}  // namespace

BackwardProblem dash_problem(const DashFigures& dash, bool causal, std::int64_t seqlen, std::int64_t heads,
                             std::int64_t q_tile, std::int64_t kv_tile) {
  BackwardProblem problem;
  SequenceWindow window;
  if (causal) window.right = 0;
  problem.mask = window_mask({seqlen, seqlen, q_tile, kv_tile}, window);
  problem.heads = static_cast<std::int32_t>(heads);
  problem.workers = dash.workers;
  return problem;
}

HeadSections sections(const DashFigures& dash, std::int64_t seqlen, std::int64_t head_dim) {
  const std::int64_t bytes_per_head = seqlen * (2 * head_dim * 2 + head_dim * 4);
  const std::int64_t budget = dash.published["machine"]["section_bytes"];
  HeadSections launch{1};
  while (2 * launch.heads_per_section * bytes_per_head <= budget) launch.heads_per_section *= 2;
  return launch;
}

ThroughputComparison training_comparison(const DashFigures& dash) {
  const Json& training = dash.published["training"];
  ThroughputComparison comparison;
  const std::int64_t seqlen = training["seqlen"];
  comparison.problem =
      dash_problem(dash, true, seqlen, training["heads"], training["q_tile"], training["kv_tile"]);
  comparison.launch = sections(dash, seqlen, training["head_dim"]);
  comparison.reference.algorithm = schedule_algorithm(training["reference"]["algorithm"].get<std::string>());
  for (const Json& point : training["points"])
    comparison.schedules.push_back({schedule_algorithm(point["algorithm"].get<std::string>()), std::nullopt});
  return comparison;
}

std::vector<double> training_ratios(const DashFigures& dash) {
  const Json& training = dash.published["training"];
  std::vector<double> ratios;
  for (const Json& point : training["points"])
    ratios.push_back(point["tflops"].get<double>() / training["reference"]["tflops"].get<double>());
  return ratios;
}

double unit_ms(const DashFigures& dash, const BackwardCosts& costs) {
  ThroughputComparison reference = training_comparison(dash);
  reference.schedules.clear();
  const double makespan = compare_throughput(reference, costs).reference_makespan;
  return (dash.published["training"]["reference"]["ms"].get<double>() - dash.other_kernels_ms) / makespan;
}

DashFigures load_dash(const Catalog& catalog) {
  DashFigures dash;
  dash.published = Json::parse(published_dash_figures());
  const Json& machine = dash.published["machine"];
  dash.workers = machine["workers"];
  const Json& fit = dash.published["fit"];
  dash.costs.compute = dash.costs.compute_partial = fit["fixed"]["compute"];
  dash.costs.reduce = fit["fixed"]["reduce"];
  dash.costs.per_tile_tax = fit["per_tile_tax"];
  dash.costs.handoff = fit["handoff"];
  dash.costs.writer_stages = machine["writer_stages"];
  const Json& zero = dash.published["zero_latency"];
  dash.zero_latency.compute = dash.zero_latency.compute_partial = zero["compute"];
  dash.zero_latency.reduce = zero["reduce"];
  const double bandwidth =
      catalog.device(machine["device"].get<std::string>()).dram_bytes_per_s.value().value;
  const Json& training = dash.published["training"];
  const double elements =
      training["heads"].get<double>() * training["seqlen"].get<double>() * training["head_dim"].get<double>();
  dash.other_kernels_ms =
      elements * dash.published["other_kernels"]["bytes_per_q_element"].get<double>() / bandwidth * 1e3;
  dash.unit_ms = unit_ms(dash, dash.costs);
  dash.elsewhere = dash.other_kernels_ms / dash.unit_ms;
  dash.tolerance = ranking_tolerance(training_ratios(dash));
  return dash;
}

PublishedRow dash_row(bool fitted, std::string figure, std::string item, double published, double ours,
                      double tolerance, std::string note) {
  PublishedRow row =
      number_row(std::move(figure), std::move(item), published, ours, tolerance, std::move(note));
  row.published = fmt::format("{:.4f}", published);
  row.fitted = fitted;
  return row;
}

void excuse(PublishedRow& row, const Json& figure, const Json& group) {
  if (!figure.contains("known_deviation")) return;
  if (std::abs(row.deviation - figure["known_deviation"].get<double>()) > kKnownWithin) return;
  const std::string reason = figure["reason"];
  mark_known(row, group.contains("reasons") ? group["reasons"][reason].get<std::string>() : reason);
}

}  // namespace natten_sim::validate

// FlashAttention-3's deterministic backward and the DASH paper: published throughputs against one set of
// fitted costs (data/dash.json). The fit repeated, the ratios it was fitted to, ratios it was not, and what
// the model without latencies gives.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/parallel.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/search/schedules/schedule_fit.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/validate/published/published_work.hpp>

#include "published/dash_figures.hpp"

namespace natten_sim::validate::works {
namespace {

/// Units: throughputs over that without an order, costs in makespans of a full task, errors of ratios.
constexpr const char* kOverUnordered = "of the throughput without order";
constexpr const char* kCost = "times of a full tile";
constexpr const char* kError = "error of a ratio, rms";

/// A refit moves constants by less than this, and errors by less than that.
constexpr double kSameConstant = 1e-3;
constexpr double kSameError = 1e-4;
void add_training(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const Json& training = dash.published["training"];
  const std::vector<double> published = training_ratios(dash);
  ThroughputComparison comparison = training_comparison(dash);
  comparison.elsewhere = dash.elsewhere;
  const ComparedThroughput fitted = compare_throughput(comparison, dash.costs);
  for (std::size_t i = 0; i < published.size(); ++i) {
    rows.push_back(dash_row(true, "fitted: pull request 1893, over not deterministic",
                            training["points"][i]["algorithm"].get<std::string>(), published[i],
                            fitted.ratios[i], dash.tolerance,
                            "published as " + training["points"][i]["published_as"].get<std::string>()));
    rows.back().place.unit = kOverUnordered;
  }
}

ThroughputComparison held_out_comparison(const DashFigures& dash, std::int64_t seqlen) {
  const Json& held_out = dash.published["held_out"];
  const std::int64_t heads = held_out["hidden"].get<std::int64_t>() /
                             held_out["head_dim"].get<std::int64_t>() *
                             (held_out["tokens"].get<std::int64_t>() / seqlen);
  ThroughputComparison comparison;
  comparison.problem = dash_problem(dash, false, seqlen, heads, held_out["q_tile"], held_out["kv_tile"]);
  comparison.schedules = {{schedule_algorithm("shift"), Dispatch::kDynamic}};
  return comparison;
}

double published_speedup(const Json& point) {
  return point["ascending_ms"].get<double>() / point["shift_ms"].get<double>();
}

std::string speedup_item(const Json& point) {
  return fmt::format("shift over ascending, {} tokens", point["seqlen"].get<std::int64_t>());
}

void add_held_out(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const Json& held_out = dash.published["held_out"];
  const double outside = dash.elsewhere, unit = dash.unit_ms;
  double ours_longest = 0;
  for (const Json& point : held_out["points"]) {
    ThroughputComparison comparison = held_out_comparison(dash, point["seqlen"]);
    comparison.elsewhere = outside;
    const ComparedThroughput ours = compare_throughput(comparison, dash.costs);
    rows.push_back(
        dash_row(false, "held out: pull request 2207", speedup_item(point), published_speedup(point),
                 ours.ratios[0], dash.tolerance,
                 fmt::format("{:.2f} and {:.2f} ms predicted, {:.2f} and {:.2f} published",
                             (ours.reference_makespan + outside) * unit, (ours.makespans[0] + outside) * unit,
                             point["ascending_ms"].get<double>(), point["shift_ms"].get<double>())));
    rows.back().place = {.unit = "x", .axis = "tokens", .at = point["seqlen"].get<double>()};
    excuse(rows.back(), point, held_out);
    ours_longest = ours.ratios[0];
  }
  rows.push_back(text_row(kFullMask, "shift over ascending, full mask, 16384 tokens", "slightly below 1",
                          fmt::format("{:.4f}", ours_longest), ours_longest < 1));
  rows.back().fitted = false;
  rows.back().ours_value = ours_longest;
  rows.back().place.unit = "x";
}

/// How the two schedules of pull request 2207 are dispatched.
struct HeldOutDispatch {
  Dispatch shift = Dispatch::kDynamic, ascending = Dispatch::kDynamic;
};

double held_out_rms(const DashFigures& dash, const BackwardCosts& costs, double outside,
                    HeldOutDispatch dispatch = {}) {
  double squares = 0;
  const Json& points = dash.published["held_out"]["points"];
  for (const Json& point : points) {
    ThroughputComparison comparison = held_out_comparison(dash, point["seqlen"]);
    comparison.elsewhere = outside;
    comparison.reference.dispatch = dispatch.ascending;
    comparison.schedules.front().dispatch = dispatch.shift;
    const double deviation = compare_throughput(comparison, costs).ratios[0] - published_speedup(point);
    squares += deviation * deviation;
  }
  return std::sqrt(squares / static_cast<double>(points.size()));
}

/// Constants of the file, which have four decimals, beside those that a repeated fit finds, with both errors.
void add_fit(const DashFigures& dash, const std::string& figure, const Json& stored, BackwardCosts costs,
             bool whole_call, const std::vector<std::vector<double>>& starts,
             std::vector<PublishedRow>& rows) {
  ScheduleCostFitRequest request;
  request.published = {{training_comparison(dash), training_ratios(dash)}};
  const double outside = whole_call ? dash.other_kernels_ms / unit_ms(dash, costs) : 0;
  request.published.front().comparison.elsewhere = outside;
  request.costs = costs;
  request.fitted = {CostParameter::kPerTileTax, CostParameter::kHandoff};
  request.starts = starts;
  const ScheduleCostFit found = fit_costs(request);
  const auto add = [&](const char* name, double ours, bool fitted, double tolerance, std::string note,
                       const char* unit) {
    rows.push_back(dash_row(fitted, figure, name, stored[name], std::round(ours * 1e4) / 1e4, tolerance,
                            std::move(note)));
    rows.back().place.unit = unit;
  };
  const auto error_of = [&](std::size_t i) {
    return fmt::format("standard error {:.3f}, {} ratios less {} costs", found.fit.standard_errors.at(i),
                       request.published.front().ratios.size(), request.fitted.size());
  };
  add("per_tile_tax", found.costs.per_tile_tax, true, kSameConstant, error_of(0), kCost);
  add("handoff", found.costs.handoff, true, kSameConstant, error_of(1), kCost);
  add("rms_error", found.fit.rms_error, true, kSameError, "of the ratios fitted to", kError);
  add("held_out_rms_error", held_out_rms(dash, found.costs, outside), false, kSameError, "pull request 2207",
      kError);
}

void add_alternatives(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const Json& stored = dash.published["fit"]["alternatives"];
  const auto start = [](const Json& fit) {
    return std::vector<std::vector<double>>{{fit["per_tile_tax"], fit["handoff"]}};
  };
  add_fit(dash, "fit without the other kernels' time", stored["main_kernel_alone"], dash.costs, false,
          start(stored["main_kernel_alone"]), rows);
  BackwardCosts serial = dash.costs;
  serial.writer_stages = 0;
  add_fit(dash, "fit with a serial writer", stored["serial_writer"], serial, true,
          start(stored["serial_writer"]), rows);
}

void add_zero_latency(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const auto add = [&](const std::string& source, const std::string& item, double published, double ours,
                       RowPlace place) {
    rows.push_back(
        dash_row(false, "zero latency: " + source, item, published, ours, dash.tolerance, "for comparison"));
    rows.back().place = std::move(place);
    mark_known(rows.back(), "");
  };
  const std::vector<double> published = training_ratios(dash);
  ThroughputComparison training = training_comparison(dash);
  for (const std::int32_t section : {training.launch->heads_per_section, 1}) {
    training.launch = HeadSections{section};
    const ComparedThroughput ours = compare_throughput(training, dash.zero_latency);
    for (std::size_t i = 0; i < published.size(); ++i) {
      add(fmt::format("pull request 1893, sections of {}", section),
          dash.published["training"]["points"][i]["algorithm"], published[i], ours.ratios[i],
          {.unit = kOverUnordered});
    }
  }
  for (const Json& point : dash.published["held_out"]["points"]) {
    add("pull request 2207", speedup_item(point), published_speedup(point),
        compare_throughput(held_out_comparison(dash, point["seqlen"]), dash.zero_latency).ratios[0],
        {.unit = "x", .axis = "tokens", .at = point["seqlen"].get<double>()});
  }
}

/// Which dispatch the figures of pull request 2207 fit, and what a prologue and an epilogue of a task each do.
void add_dispatch(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const Json& stored = dash.published["dispatch"];
  const double outside = dash.elsewhere;
  const auto add = [&](const char* key, const char* item, double ours) {
    rows.push_back(dash_row(false, "held-out error by dispatch, stored and repeated", item, stored[key], ours,
                            kSameError));
    rows.back().place.unit = kError;
  };
  constexpr Dispatch kStatic = Dispatch::kStatic;
  add("shift_static", "shift static", held_out_rms(dash, dash.costs, outside, {.shift = kStatic}));
  add("both_static", "shift and ascending static",
      held_out_rms(dash, dash.costs, outside, {.shift = kStatic, .ascending = kStatic}));
  BackwardCosts chains = dash.costs;
  chains.prologue = chains.epilogue = dash.costs.compute;
  add("chain_costs", "both dynamic, prologue and epilogue of a task", held_out_rms(dash, chains, outside));
  add("chain_costs_shift_static", "shift static, prologue and epilogue of a task",
      held_out_rms(dash, chains, outside, {.shift = kStatic}));
}

void add_stored_fit(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const Json& fit = dash.published["fit"];
  add_fit(dash, "fit, stored and repeated", fit, dash.costs, true,
          fit["starts"].get<std::vector<std::vector<double>>>(), rows);
}

std::vector<PublishedRow> reproduce_dash(const study::Context& context) {
  const DashFigures dash = load_dash(context.catalog);
  // In the order of the rows.
  const std::vector<void (*)(const DashFigures&, std::vector<PublishedRow>&)> parts = {
      add_stored_fit, add_training,     add_held_out,    add_dispatch,
      add_dash_paper, add_zero_latency, add_alternatives};
  std::vector<std::vector<PublishedRow>> rows_of(parts.size());
  run_tasks(parts.size(), {.threads = context.threads, .progress = context.progress},
            [&](std::size_t part, std::size_t) { parts[part](dash, rows_of[part]); });
  std::vector<PublishedRow> rows;
  for (std::vector<PublishedRow>& part : rows_of)
    std::move(part.begin(), part.end(), std::back_inserter(rows));
  return rows;
}

}  // namespace

PublishedWork dash() {
  return {.name = "dash",
          .title = "deterministic backward of FlashAttention-3",
          .source =
              "DASH: Deterministic Attention Scheduling for High-throughput Reproducible LLM Training; "
              "pull requests of github.com/Dao-AILab/flash-attention",
          .position = 20,
          .reproduce = reproduce_dash,
          .figures = {"fit, stored and repeated", "fitted: pull request 1893, over not deterministic",
                      "held out: pull request 2207", "figure 8",
                      "held-out error by dispatch, stored and repeated", "figure 1", "figure 9", "table 1",
                      "zero latency: pull request 1893, sections of 4",
                      "zero latency: pull request 1893, sections of 1", "zero latency: pull request 2207",
                      "fit without the other kernels' time", "fit with a serial writer"},
          .effort =
              "over 500 backward schedules are simulated event by event, most of them to repeat three fits"};
}

}  // namespace natten_sim::validate::works

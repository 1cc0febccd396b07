// FlashAttention-3's deterministic backward and the DASH paper: published throughputs against one set of
// fitted costs (data/dash.json). The fit repeated, the ratios it was fitted to, ratios it was not, and what
// the model without latencies gives.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/search/schedules/schedule_fit.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/validate/published/published_work.hpp>

namespace natten_sim::validate::works {
namespace {

/// A refit moves constants by less than this, and errors by less than that.
constexpr double kSameConstant = 1e-3;
constexpr double kSameError = 1e-4;
/// A known deviation is known to this.
constexpr double kKnownWithin = 5e-4;
constexpr const char* kDashPaper = "held out: DASH";

/// What the rows need: the file, the machine, the stored costs, and the time outside the main kernel.
struct DashFigures {
  Json published;
  std::int32_t workers = 0;
  double other_kernels_ms = 0;
  double unit_ms = 0;    ///< one compute of `costs`
  double elsewhere = 0;  ///< other_kernels_ms in that unit
  double tolerance = 0;
  BackwardCosts costs;
  BackwardCosts zero_latency;
};

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

/// FlashAttention-3's causal launch: the largest power of two of heads whose Q, dO (bf16) and dQ (fp32) fit.
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

/// The reference's published time, less the other kernels', is its makespan: that gives the unit.
double unit_ms(const DashFigures& dash, const BackwardCosts& costs) {
  ThroughputComparison reference = training_comparison(dash);
  reference.schedules.clear();
  const double makespan = compare_throughput(reference, costs).reference_makespan;
  return (dash.published["training"]["reference"]["ms"].get<double>() - dash.other_kernels_ms) / makespan;
}

/// Half of the smallest difference between two fitted ratios: closer than that ranks them right.
double ranking_tolerance(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  double smallest = 1;
  for (std::size_t i = 1; i < ratios.size(); ++i) smallest = std::min(smallest, ratios[i] - ratios[i - 1]);
  return smallest / 2;
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
                      double tolerance, std::string note = "") {
  PublishedRow row =
      number_row(std::move(figure), std::move(item), published, ours, tolerance, std::move(note));
  row.published = fmt::format("{:.4f}", published);
  row.fitted = fitted;
  return row;
}

/// A deviation out of tolerance is known if the file says how large it is and why, in full or by naming one
/// of `group`'s reasons.
void excuse(PublishedRow& row, const Json& figure, const Json& group) {
  if (!figure.contains("known_deviation")) return;
  if (std::abs(row.deviation - figure["known_deviation"].get<double>()) > kKnownWithin) return;
  const std::string reason = figure["reason"];
  mark_known(row, group.contains("reasons") ? group["reasons"][reason].get<std::string>() : reason);
}

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
    excuse(rows.back(), point, held_out);
    ours_longest = ours.ratios[0];
  }
  rows.push_back(text_row(kDashPaper, "shift over ascending, full mask, 16384 tokens", "slightly below 1",
                          fmt::format("{:.4f}", ours_longest), ours_longest < 1));
  rows.back().fitted = false;
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
  const auto add = [&](const char* name, double ours, bool fitted, double tolerance, std::string note) {
    rows.push_back(dash_row(fitted, figure, name, stored[name], std::round(ours * 1e4) / 1e4, tolerance,
                            std::move(note)));
  };
  const auto error_of = [&](std::size_t i) {
    return fmt::format("standard error {:.3f}, {} ratios less {} costs", found.fit.standard_errors.at(i),
                       request.published.front().ratios.size(), request.fitted.size());
  };
  add("per_tile_tax", found.costs.per_tile_tax, true, kSameConstant, error_of(0));
  add("handoff", found.costs.handoff, true, kSameConstant, error_of(1));
  add("rms_error", found.fit.rms_error, true, kSameError, "of the ratios fitted to");
  add("held_out_rms_error", held_out_rms(dash, found.costs, outside), false, kSameError, "pull request 2207");
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
  const auto add = [&](const std::string& source, const std::string& item, double published, double ours) {
    rows.push_back(
        dash_row(false, "zero latency: " + source, item, published, ours, dash.tolerance, "for comparison"));
    mark_known(rows.back(), "");
  };
  const std::vector<double> published = training_ratios(dash);
  ThroughputComparison training = training_comparison(dash);
  for (const std::int32_t section : {training.launch->heads_per_section, 1}) {
    training.launch = HeadSections{section};
    const ComparedThroughput ours = compare_throughput(training, dash.zero_latency);
    for (std::size_t i = 0; i < published.size(); ++i) {
      add(fmt::format("pull request 1893, sections of {}", section),
          dash.published["training"]["points"][i]["algorithm"], published[i], ours.ratios[i]);
    }
  }
  for (const Json& point : dash.published["held_out"]["points"]) {
    add("pull request 2207", speedup_item(point), published_speedup(point),
        compare_throughput(held_out_comparison(dash, point["seqlen"]), dash.zero_latency).ratios[0]);
  }
}

/// Which dispatch the figures of pull request 2207 fit, and what a prologue and an epilogue of a task each do.
void add_dispatch(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const Json& stored = dash.published["dispatch"];
  const double outside = dash.elsewhere;
  const auto add = [&](const char* key, const char* item, double ours) {
    rows.push_back(dash_row(false, "held-out error by dispatch, stored and repeated", item, stored[key], ours,
                            kSameError));
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

/// The paper's causal configurations, predicted; times relative to the ascending schedule.
struct CausalCase {
  std::int64_t head_dim = 0;
  double loss = 0;  ///< of ascending against unordered
  double descending = 0, symmetric_shift = 0;
};

std::vector<CausalCase> predict_causal(const DashFigures& dash) {
  const Json& paper = dash.published["paper"];
  std::vector<CausalCase> cases;
  for (const auto& [dimension, tiles] : paper["causal_tiles"].items()) {
    const std::int64_t head_dim = std::stoll(dimension);
    for (const Json& length : paper["seqlens"]) {
      const std::int64_t seqlen = length;
      const std::int64_t heads =
          paper["hidden"].get<std::int64_t>() / head_dim * (paper["tokens"].get<std::int64_t>() / seqlen);
      ThroughputComparison comparison;
      comparison.problem = dash_problem(dash, true, seqlen, heads, tiles[0], tiles[1]);
      comparison.launch = sections(dash, seqlen, head_dim);
      comparison.schedules = {{schedule_algorithm("unordered"), std::nullopt},
                              {schedule_algorithm("descending"), std::nullopt}};
      comparison.elsewhere = dash.elsewhere;
      const ComparedThroughput ours = compare_throughput(comparison, dash.costs);
      comparison.schedules = {{schedule_algorithm("symmetric-shift"), std::nullopt}};
      comparison.launch.reset();
      const double symmetric = compare_throughput(comparison, dash.costs).makespans[0];
      cases.push_back(
          {head_dim, 1 - 1 / ours.ratios[0], ours.ratios[1],
           (ours.reference_makespan + comparison.elsewhere) / (symmetric + comparison.elsewhere)});
    }
  }
  return cases;
}

void add_dash_paper(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const Json& paper = dash.published["paper"];
  const std::vector<CausalCase> cases = predict_causal(dash);
  double loss = 0, speedup = 0, symmetric = 0;
  for (const CausalCase& one : cases) {
    loss = std::max(loss, one.loss);
    speedup = std::max(speedup, one.descending);
    symmetric = std::max(symmetric, one.symmetric_shift);
  }
  rows.push_back(dash_row(false, kDashPaper, "largest loss of ascending, causal", paper["largest_loss"], loss,
                          dash.tolerance));
  rows.push_back(dash_row(false, kDashPaper, "largest speedup by descending, causal",
                          paper["largest_speedup"]["published"], speedup, dash.tolerance,
                          fmt::format("symmetric shift up to {:.2f}", symmetric)));
  excuse(rows.back(), paper["largest_speedup"], Json::object());
  for (const auto& [dimension, published] : paper["symmetric_shift_leads"].items()) {
    const auto leads = std::count_if(cases.begin(), cases.end(), [&](const CausalCase& one) {
      return std::to_string(one.head_dim) == dimension && one.symmetric_shift > one.descending;
    });
    PublishedRow row = dash_row(
        false, kDashPaper, "lengths where symmetric shift beats descending, causal, head dim " + dimension,
        published["published"], static_cast<double>(leads), 0);
    row.published = fmt::format("{} of 6", published["published"].get<int>());
    row.ours = fmt::format("{} of 6", leads);
    excuse(row, published, Json::object());
    rows.push_back(row);
  }
}

void add_stored_fit(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const Json& fit = dash.published["fit"];
  add_fit(dash, "fit, stored and repeated", fit, dash.costs, true,
          fit["starts"].get<std::vector<std::vector<double>>>(), rows);
}

std::vector<PublishedRow> reproduce_dash(const study::Context& context) {
  const DashFigures dash = load_dash(context.catalog);
  // They share nothing but the figures, so each has a thread where the system gives one.
  std::atomic<int> done = 0;
  std::vector<std::future<std::vector<PublishedRow>>> parts;
  for (const auto add : {add_stored_fit, add_training, add_held_out, add_dispatch, add_dash_paper,
                         add_zero_latency, add_alternatives}) {
    parts.push_back(std::async([&dash, &done, add] {
      std::vector<PublishedRow> rows;
      add(dash, rows);
      ++done;
      return rows;
    }));
  }
  std::vector<PublishedRow> rows;
  for (auto& part : parts) {
    while (part.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout)
      if (context.progress) context.progress(done / static_cast<double>(parts.size()));
    for (PublishedRow& row : part.get()) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

PublishedWork dash() {
  return {.name = "dash",
          .title = "deterministic backward of FlashAttention-3",
          .position = 20,
          .reproduce = reproduce_dash};
}

}  // namespace natten_sim::validate::works

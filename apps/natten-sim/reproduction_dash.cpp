#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/search/schedule_fit.hpp>
#include <natten_sim/sim/block_mask.hpp>

#include "reproduction.hpp"

namespace natten_sim::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A refit moves constants by less than this, and errors by less than that.
constexpr double kSameConstant = 1e-3;
constexpr double kSameError = 1e-4;
/// A known deviation is known to this.
constexpr double kKnownWithin = 5e-4;
constexpr const char* kPaper = "held out: DASH";

/// What the rows need: the file, the machine, the stored costs, and the time outside the main kernel.
struct Study {
  Json published;
  std::int32_t workers = 0;
  double other_kernels_ms = 0;
  double unit_ms = 0;    ///< one compute of `costs`
  double elsewhere = 0;  ///< other_kernels_ms in that unit
  double tolerance = 0;
  BackwardCosts costs;
  BackwardCosts zero_latency;
};

BackwardProblem problem_of(const Study& study, bool causal, std::int64_t seqlen, std::int64_t heads,
                           std::int64_t q_tile, std::int64_t kv_tile) {
  BackwardProblem problem;
  SequenceWindow window;
  if (causal) window.right = 0;
  problem.mask = window_mask({seqlen, seqlen, q_tile, kv_tile}, window);
  problem.heads = static_cast<std::int32_t>(heads);
  problem.workers = study.workers;
  return problem;
}

/// FlashAttention-3's causal launch: the largest power of two of heads whose Q, dO (bf16) and dQ (fp32) fit.
LaunchOrder sections(const Study& study, std::int64_t seqlen, std::int64_t head_dim) {
  const std::int64_t bytes_per_head = seqlen * (2 * head_dim * 2 + head_dim * 4);
  const std::int64_t budget = study.published["machine"]["section_bytes"];
  LaunchOrder launch{1};
  while (2 * launch.heads_per_section * bytes_per_head <= budget) launch.heads_per_section *= 2;
  return launch;
}

ThroughputComparison training_comparison(const Study& study) {
  const Json& training = study.published["training"];
  ThroughputComparison comparison;
  const std::int64_t seqlen = training["seqlen"];
  comparison.problem =
      problem_of(study, true, seqlen, training["heads"], training["q_tile"], training["kv_tile"]);
  comparison.launch = sections(study, seqlen, training["head_dim"]);
  comparison.reference.algorithm = parse_backward_algorithm(training["reference"]["algorithm"]);
  for (const Json& point : training["points"])
    comparison.schedules.push_back({parse_backward_algorithm(point["algorithm"]), std::nullopt});
  return comparison;
}

std::vector<double> training_ratios(const Study& study) {
  const Json& training = study.published["training"];
  std::vector<double> ratios;
  for (const Json& point : training["points"])
    ratios.push_back(point["tflops"].get<double>() / training["reference"]["tflops"].get<double>());
  return ratios;
}

/// The reference's published time, less the other kernels', is its makespan: that gives the unit.
double unit_ms(const Study& study, const BackwardCosts& costs) {
  ThroughputComparison reference = training_comparison(study);
  reference.schedules.clear();
  const double makespan = compare_throughput(reference, costs).reference_makespan;
  return (study.published["training"]["reference"]["ms"].get<double>() - study.other_kernels_ms) / makespan;
}

/// Half of the smallest difference between two fitted ratios: closer than that ranks them right.
double ranking_tolerance(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  double smallest = 1;
  for (std::size_t i = 1; i < ratios.size(); ++i) smallest = std::min(smallest, ratios[i] - ratios[i - 1]);
  return smallest / 2;
}

Study load_study() {
  Study study;
  study.published = Json::parse(published_dash_figures());
  const Json& machine = study.published["machine"];
  study.workers = machine["workers"];
  const Json& fit = study.published["fit"];
  study.costs.compute = study.costs.compute_partial = fit["fixed"]["compute"];
  study.costs.reduce = fit["fixed"]["reduce"];
  study.costs.per_tile_tax = fit["per_tile_tax"];
  study.costs.handoff = fit["handoff"];
  study.costs.writer_stages = machine["writer_stages"];
  const Json& zero = study.published["zero_latency"];
  study.zero_latency.compute = study.zero_latency.compute_partial = zero["compute"];
  study.zero_latency.reduce = zero["reduce"];
  double bandwidth = 0;
  const Catalog catalog = builtin_catalog();
  for (const DeviceValue& value : catalog.device(machine["device"].get<std::string>()).values) {
    if (value.name == "dram_bandwidth_bytes_per_s") bandwidth = value.value;
  }
  const Json& training = study.published["training"];
  const double elements =
      training["heads"].get<double>() * training["seqlen"].get<double>() * training["head_dim"].get<double>();
  study.other_kernels_ms =
      elements * study.published["other_kernels"]["bytes_per_q_element"].get<double>() / bandwidth * 1e3;
  study.unit_ms = unit_ms(study, study.costs);
  study.elsewhere = study.other_kernels_ms / study.unit_ms;
  study.tolerance = ranking_tolerance(training_ratios(study));
  return study;
}

ReproducedRow dash_row(bool fitted, std::string figure, std::string item, double published, double ours,
                       double tolerance, std::string note = "") {
  ReproducedRow row =
      number_row(std::move(figure), std::move(item), published, ours, tolerance, std::move(note));
  row.published = fmt::format("{:.4f}", published);
  row.fitted = fitted;
  return row;
}

/// A deviation out of tolerance is known if the file says how large it is and why, in full or by naming one
/// of `group`'s reasons.
void excuse(ReproducedRow& row, const Json& figure, const Json& group) {
  if (row.verdict != Verdict::kOutside || !figure.contains("known_deviation")) return;
  if (std::abs(row.deviation - figure["known_deviation"].get<double>()) > kKnownWithin) return;
  row.verdict = Verdict::kKnown;
  const std::string reason = figure["reason"];
  row.note += (row.note.empty() ? "" : "; ") +
              (group.contains("reasons") ? group["reasons"][reason].get<std::string>() : reason);
}

void add_training(const Study& study, std::vector<ReproducedRow>& rows) {
  const Json& training = study.published["training"];
  const std::vector<double> published = training_ratios(study);
  ThroughputComparison comparison = training_comparison(study);
  comparison.elsewhere = study.elsewhere;
  const ComparedThroughput fitted = compare_throughput(comparison, study.costs);
  for (std::size_t i = 0; i < published.size(); ++i) {
    rows.push_back(dash_row(true, "fitted: pull request 1893, over not deterministic",
                            training["points"][i]["algorithm"].get<std::string>(), published[i],
                            fitted.ratios[i], study.tolerance,
                            "published as " + training["points"][i]["published_as"].get<std::string>()));
  }
}

ThroughputComparison held_out_comparison(const Study& study, std::int64_t seqlen) {
  const Json& held_out = study.published["held_out"];
  const std::int64_t heads = held_out["hidden"].get<std::int64_t>() /
                             held_out["head_dim"].get<std::int64_t>() *
                             (held_out["tokens"].get<std::int64_t>() / seqlen);
  ThroughputComparison comparison;
  comparison.problem = problem_of(study, false, seqlen, heads, held_out["q_tile"], held_out["kv_tile"]);
  comparison.schedules = {{BackwardAlgorithm::kShift, Dispatch::kDynamic}};
  return comparison;
}

double published_speedup(const Json& point) {
  return point["ascending_ms"].get<double>() / point["shift_ms"].get<double>();
}

std::string speedup_item(const Json& point) {
  return fmt::format("shift over ascending, {} tokens", point["seqlen"].get<std::int64_t>());
}

void add_held_out(const Study& study, std::vector<ReproducedRow>& rows) {
  const Json& held_out = study.published["held_out"];
  const double outside = study.elsewhere, unit = study.unit_ms;
  double ours_longest = 0;
  for (const Json& point : held_out["points"]) {
    ThroughputComparison comparison = held_out_comparison(study, point["seqlen"]);
    comparison.elsewhere = outside;
    const ComparedThroughput ours = compare_throughput(comparison, study.costs);
    rows.push_back(
        dash_row(false, "held out: pull request 2207", speedup_item(point), published_speedup(point),
                 ours.ratios[0], study.tolerance,
                 fmt::format("{:.2f} and {:.2f} ms predicted, {:.2f} and {:.2f} published",
                             (ours.reference_makespan + outside) * unit, (ours.makespans[0] + outside) * unit,
                             point["ascending_ms"].get<double>(), point["shift_ms"].get<double>())));
    excuse(rows.back(), point, held_out);
    ours_longest = ours.ratios[0];
  }
  rows.push_back({kPaper, "shift over ascending, full mask, 16384 tokens", "slightly below 1",
                  fmt::format("{:.4f}", ours_longest), 0, 0,
                  ours_longest < 1 ? Verdict::kWithin : Verdict::kOutside, "", false});
}

double held_out_rms(const Study& study, const BackwardCosts& costs, double outside) {
  double squares = 0;
  const Json& points = study.published["held_out"]["points"];
  for (const Json& point : points) {
    ThroughputComparison comparison = held_out_comparison(study, point["seqlen"]);
    comparison.elsewhere = outside;
    const double deviation = compare_throughput(comparison, costs).ratios[0] - published_speedup(point);
    squares += deviation * deviation;
  }
  return std::sqrt(squares / static_cast<double>(points.size()));
}

/// Constants of the file, which have four decimals, beside those that a repeated fit finds, with both errors.
void add_fit(const Study& study, const std::string& figure, const Json& stored, BackwardCosts costs,
             bool whole_call, const std::vector<std::vector<double>>& starts,
             std::vector<ReproducedRow>& rows) {
  CostFitRequest request;
  request.published = {{training_comparison(study), training_ratios(study)}};
  const double outside = whole_call ? study.other_kernels_ms / unit_ms(study, costs) : 0;
  request.published.front().comparison.elsewhere = outside;
  request.costs = costs;
  request.fitted = {CostParameter::kPerTileTax, CostParameter::kHandoff};
  request.starts = starts;
  const CostFit found = fit_costs(request);
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
  add("held_out_rms_error", held_out_rms(study, found.costs, outside), false, kSameError,
      "pull request 2207");
}

void add_alternatives(const Study& study, std::vector<ReproducedRow>& rows) {
  const Json& stored = study.published["fit"]["alternatives"];
  const auto start = [](const Json& fit) {
    return std::vector<std::vector<double>>{{fit["per_tile_tax"], fit["handoff"]}};
  };
  add_fit(study, "fit without the other kernels' time", stored["main_kernel_alone"], study.costs, false,
          start(stored["main_kernel_alone"]), rows);
  BackwardCosts serial = study.costs;
  serial.writer_stages = 0;
  add_fit(study, "fit with a serial writer", stored["serial_writer"], serial, true,
          start(stored["serial_writer"]), rows);
}

void add_zero_latency(const Study& study, std::vector<ReproducedRow>& rows) {
  const auto add = [&](const std::string& source, const std::string& item, double published, double ours) {
    rows.push_back(
        dash_row(false, "zero latency: " + source, item, published, ours, study.tolerance, "for comparison"));
    if (rows.back().verdict == Verdict::kOutside) rows.back().verdict = Verdict::kKnown;
  };
  const std::vector<double> published = training_ratios(study);
  ThroughputComparison training = training_comparison(study);
  for (const std::int32_t section : {training.launch->heads_per_section, 1}) {
    training.launch = LaunchOrder{section};
    const ComparedThroughput ours = compare_throughput(training, study.zero_latency);
    for (std::size_t i = 0; i < published.size(); ++i) {
      add(fmt::format("pull request 1893, sections of {}", section),
          study.published["training"]["points"][i]["algorithm"], published[i], ours.ratios[i]);
    }
  }
  for (const Json& point : study.published["held_out"]["points"]) {
    add("pull request 2207", speedup_item(point), published_speedup(point),
        compare_throughput(held_out_comparison(study, point["seqlen"]), study.zero_latency).ratios[0]);
  }
}

/// The paper's causal configurations, predicted; times relative to the ascending schedule.
struct CausalCase {
  std::int64_t head_dim = 0;
  double loss = 0;  ///< of ascending against unordered
  double descending = 0, symmetric_shift = 0;
};

std::vector<CausalCase> predict_causal(const Study& study) {
  const Json& paper = study.published["paper"];
  std::vector<CausalCase> cases;
  for (const auto& [dimension, tiles] : paper["causal_tiles"].items()) {
    const std::int64_t head_dim = std::stoll(dimension);
    for (const Json& length : paper["seqlens"]) {
      const std::int64_t seqlen = length;
      const std::int64_t heads =
          paper["hidden"].get<std::int64_t>() / head_dim * (paper["tokens"].get<std::int64_t>() / seqlen);
      ThroughputComparison comparison;
      comparison.problem = problem_of(study, true, seqlen, heads, tiles[0], tiles[1]);
      comparison.launch = sections(study, seqlen, head_dim);
      comparison.schedules = {{BackwardAlgorithm::kUnordered, std::nullopt},
                              {BackwardAlgorithm::kDescending, std::nullopt}};
      comparison.elsewhere = study.elsewhere;
      const ComparedThroughput ours = compare_throughput(comparison, study.costs);
      comparison.schedules = {{BackwardAlgorithm::kSymmetricShift, std::nullopt}};
      comparison.launch.reset();
      const double symmetric = compare_throughput(comparison, study.costs).makespans[0];
      cases.push_back(
          {head_dim, 1 - 1 / ours.ratios[0], ours.ratios[1],
           (ours.reference_makespan + comparison.elsewhere) / (symmetric + comparison.elsewhere)});
    }
  }
  return cases;
}

void add_paper(const Study& study, std::vector<ReproducedRow>& rows) {
  const Json& paper = study.published["paper"];
  const std::vector<CausalCase> cases = predict_causal(study);
  double loss = 0, speedup = 0, symmetric = 0;
  for (const CausalCase& one : cases) {
    loss = std::max(loss, one.loss);
    speedup = std::max(speedup, one.descending);
    symmetric = std::max(symmetric, one.symmetric_shift);
  }
  rows.push_back(dash_row(false, kPaper, "largest loss of ascending, causal", paper["largest_loss"], loss,
                          study.tolerance));
  rows.push_back(dash_row(false, kPaper, "largest speedup by descending, causal",
                          paper["largest_speedup"]["published"], speedup, study.tolerance,
                          fmt::format("symmetric shift up to {:.2f}", symmetric)));
  excuse(rows.back(), paper["largest_speedup"], Json::object());
  for (const auto& [dimension, published] : paper["symmetric_shift_leads"].items()) {
    const auto leads = std::count_if(cases.begin(), cases.end(), [&](const CausalCase& one) {
      return std::to_string(one.head_dim) == dimension && one.symmetric_shift > one.descending;
    });
    ReproducedRow row = dash_row(
        false, kPaper, "lengths where symmetric shift beats descending, causal, head dim " + dimension,
        published["published"], static_cast<double>(leads), 0);
    row.published = fmt::format("{} of 6", published["published"].get<int>());
    row.ours = fmt::format("{} of 6", leads);
    excuse(row, published, Json::object());
    rows.push_back(row);
  }
}

}  // namespace

std::vector<ReproducedRow> reproduce_dash(const std::function<void(double)>& progress) {
  const auto done = [&](double fraction) {
    if (progress) progress(fraction);
  };
  const Study study = load_study();
  std::vector<ReproducedRow> rows;
  const Json& fit = study.published["fit"];
  add_fit(study, "fit, stored and repeated", fit, study.costs, true,
          fit["starts"].get<std::vector<std::vector<double>>>(), rows);
  done(0.5);
  add_training(study, rows);
  add_held_out(study, rows);
  done(0.6);
  add_paper(study, rows);
  add_zero_latency(study, rows);
  done(0.8);
  add_alternatives(study, rows);
  done(1);
  return rows;
}

}  // namespace natten_sim::cli

// What the DASH paper says and draws, beside predictions with the fitted costs.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/search/schedules/schedule_algorithm.hpp>

#include "published/dash_figures.hpp"

namespace natten_sim::validate {
namespace {

constexpr const char* kCausalMask = "figure 9";
constexpr const char* kDrawnOnly = "the paper draws it and prints no number";

/// The paper's causal configurations, predicted; times relative to the ascending schedule.
struct CausalCase {
  std::int64_t head_dim = 0, seqlen = 0;
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
          {head_dim, seqlen, 1 - 1 / ours.ratios[0], ours.ratios[1],
           (ours.reference_makespan + comparison.elsewhere) / (symmetric + comparison.elsewhere)});
    }
  }
  return cases;
}

/// A speedup that figures 8 and 9 draw over the length.
PublishedRow drawn_row(const char* figure, const char* order, std::int64_t head_dim, std::int64_t seqlen,
                       double ours) {
  PublishedRow row = placed(
      shown_row(figure, fmt::format("{} over ascending, head dim {}, {} tokens", order, head_dim, seqlen), {},
                ours, kDrawnOnly),
      {.unit = "x",
       .series = fmt::format("{}, head dim {}", order, head_dim),
       .axis = "tokens",
       .at = static_cast<double>(seqlen)});
  row.ours = fmt::format("{:.4f}", ours);
  row.fitted = false;
  return row;
}

void add_full_mask(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const Json& paper = dash.published["paper"];
  for (const auto& [dimension, tiles] : paper["full_tiles"].items()) {
    const std::int64_t head_dim = std::stoll(dimension);
    for (const Json& length : paper["seqlens"]) {
      const std::int64_t seqlen = length;
      const std::int64_t heads =
          paper["hidden"].get<std::int64_t>() / head_dim * (paper["tokens"].get<std::int64_t>() / seqlen);
      ThroughputComparison comparison;
      comparison.problem = dash_problem(dash, false, seqlen, heads, tiles[0], tiles[1]);
      comparison.schedules = {{schedule_algorithm("shift"), Dispatch::kDynamic}};
      comparison.elsewhere = dash.elsewhere;
      rows.push_back(drawn_row(kFullMask, "shift", head_dim, seqlen,
                               compare_throughput(comparison, dash.costs).ratios[0]));
    }
  }
}

/// A fixed order of sums gives the same bits each time; what an open order gives is not modelled.
void add_gradients(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  constexpr const char* kDeviation = "largest deviation of a gradient";
  for (const Json& mask : dash.published["paper"]["gradient_deviation"]) {
    const std::string name = mask["mask"];
    rows.push_back(shown_row("table 1", name + " mask, not deterministic", mask["unordered"].get<double>(),
                             {}, "largest deviation of ten passes; depends on the data, not modelled"));
    rows.back().place.unit = kDeviation;
    rows.back().fitted = false;
    rows.push_back(number_row("table 1", name + " mask, deterministic", mask["deterministic"], 0, 0));
    rows.back().place.unit = kDeviation;
    rows.back().fitted = false;
    rows.back().by_construction = true;
  }
}

void add_statements(const DashFigures& dash, const std::vector<CausalCase>& cases,
                    std::vector<PublishedRow>& rows) {
  const Json& paper = dash.published["paper"];
  double loss = 0, speedup = 0, symmetric = 0;
  for (const CausalCase& one : cases) {
    loss = std::max(loss, one.loss);
    speedup = std::max(speedup, one.descending);
    symmetric = std::max(symmetric, one.symmetric_shift);
  }
  rows.push_back(dash_row(false, "figure 1", "largest loss of ascending, causal", paper["largest_loss"], loss,
                          dash.tolerance));
  rows.back().place.unit = "of the throughput without order, lost";
  rows.push_back(dash_row(false, kCausalMask, "largest speedup by descending, causal",
                          paper["largest_speedup"]["published"], speedup, dash.tolerance,
                          fmt::format("symmetric shift up to {:.2f}", symmetric)));
  rows.back().place.unit = "x";
  excuse(rows.back(), paper["largest_speedup"], Json::object());
  for (const auto& lead : paper["symmetric_shift_leads"].items()) {
    const std::string& dimension = lead.key;
    const Json& published = lead.value;
    const auto leads = std::count_if(cases.begin(), cases.end(), [&](const CausalCase& one) {
      return std::to_string(one.head_dim) == dimension && one.symmetric_shift > one.descending;
    });
    PublishedRow row = dash_row(
        false, kCausalMask, "lengths where symmetric shift beats descending, causal, head dim " + dimension,
        published["published"], static_cast<double>(leads), 0);
    row.published = fmt::format("{} of 6", published["published"].get<int>());
    row.ours = fmt::format("{} of 6", leads);
    row.place.unit = "lengths of 6";
    excuse(row, published, Json::object());
    rows.push_back(row);
  }
}

}  // namespace

void add_dash_paper(const DashFigures& dash, std::vector<PublishedRow>& rows) {
  const std::vector<CausalCase> cases = predict_causal(dash);
  add_statements(dash, cases, rows);
  for (const CausalCase& one : cases) {
    rows.push_back(drawn_row(kCausalMask, "descending", one.head_dim, one.seqlen, one.descending));
    rows.push_back(drawn_row(kCausalMask, "symmetric-shift", one.head_dim, one.seqlen, one.symmetric_shift));
  }
  add_full_mask(dash, rows);
  add_gradients(dash, rows);
}

}  // namespace natten_sim::validate

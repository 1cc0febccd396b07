#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/search/schedules/schedule_fit.hpp>
#include <natten_sim/validate/published/published_row.hpp>

namespace natten_sim::validate {

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

[[nodiscard]] DashFigures load_dash(const Catalog& catalog);

[[nodiscard]] BackwardProblem dash_problem(const DashFigures& dash, bool causal, std::int64_t seqlen,
                                           std::int64_t heads, std::int64_t q_tile, std::int64_t kv_tile);
/// FlashAttention-3's causal launch: the largest power of two of heads whose Q, dO (bf16) and dQ (fp32) fit.
[[nodiscard]] HeadSections sections(const DashFigures& dash, std::int64_t seqlen, std::int64_t head_dim);
[[nodiscard]] ThroughputComparison training_comparison(const DashFigures& dash);
[[nodiscard]] std::vector<double> training_ratios(const DashFigures& dash);
/// The reference's published time, less the other kernels', is its makespan: that gives the unit.
[[nodiscard]] double unit_ms(const DashFigures& dash, const BackwardCosts& costs);

[[nodiscard]] PublishedRow dash_row(bool fitted, std::string figure, std::string item, double published,
                                    double ours, double tolerance, std::string note = "");
/// A deviation out of tolerance is known if the file says how large it is and why, in full or by naming one
/// of `group`'s reasons.
void excuse(PublishedRow& row, const Json& figure, const Json& group);

/// Figure 8 of the paper: the full mask.
constexpr const char* kFullMask = "figure 8";
/// What the paper says and draws: figures 1, 8 and 9, table 1.
void add_dash_paper(const DashFigures& dash, std::vector<PublishedRow>& rows);

}  // namespace natten_sim::validate

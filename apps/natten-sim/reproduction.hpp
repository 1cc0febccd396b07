#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace natten_sim::cli {

enum class Verdict { kWithin, kKnown, kOutside };

/// One published figure beside ours. Numbers are compared by |ours - published| <= tolerance; texts must be
/// equal.
struct ReproducedRow {
  std::string figure;  ///< "table 4.3"
  std::string item;
  std::string published;
  std::string ours;
  double deviation = 0;  ///< ours - published; 0 for equal texts
  double tolerance = 0;
  Verdict verdict = Verdict::kWithin;
  std::string note;
  /// Whether constants of ours were fitted to this figure; none: nothing in this reproduction is fitted.
  std::optional<bool> fitted = std::nullopt;
  /// Times compare by their ratio: `deviation` is ours / published - 1. The tolerance bounds it, or, for
  /// contended times, what the larger of ratio and inverse exceeds 1 by.
  bool relative = false;
};

/// Numbers within `tolerance` are kWithin, others kOutside.
[[nodiscard]] ReproducedRow number_row(std::string figure, std::string item, double published, double ours,
                                       double tolerance, std::string note = "");

/// Every published figure of the dissertation's chapter 4 that tile counts determine, recomputed.
[[nodiscard]] std::vector<ReproducedRow> reproduce_gna();

/// Published throughputs of FlashAttention-3's deterministic backward against one set of fitted costs
/// (data/dash.json): the fit repeated, the ratios it was fitted to, ratios it was not, and what the model
/// without latencies gives. Takes seconds; `progress` is called with 0..1.
[[nodiscard]] std::vector<ReproducedRow> reproduce_dash(const std::function<void(double)>& progress = {});
/// The MSDA paper's tables and the scatter_add times measured on an H200, beside the predictions. Takes
/// seconds; `progress` is called with 0..1.
[[nodiscard]] std::vector<ReproducedRow> reproduce_msda(const std::function<void(double)>& progress = {});

/// The Sawtooth paper's counters, error figures and miss counts, as far as its text gives numbers.
[[nodiscard]] std::vector<ReproducedRow> reproduce_sawtooth();

}  // namespace natten_sim::cli

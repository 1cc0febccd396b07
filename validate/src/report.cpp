#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include <natten_sim/validate/report.hpp>
#include <natten_sim/validate/saving.hpp>

#include "html.hpp"

namespace natten_sim::validate {
namespace {

std::string number(const char* pattern, double value) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), pattern, value);
  return text.data();
}

std::string percent(double fraction) {
  return std::isfinite(fraction) ? number("%.3f %%", 100 * fraction) : "nothing measured";
}

std::string row_of(const std::vector<std::string>& cells, const char* tag, const std::string& style = "") {
  std::string html = style.empty() ? "<tr>" : "<tr class='" + style + "'>";
  for (const std::string& cell : cells) {
    html += "<";
    html += tag;
    html += ">" + escaped_html(cell) + "</";
    html += tag;
    html += ">";
  }
  return html + "</tr>\n";
}

std::string head_table(const std::vector<Recording>& recordings) {
  std::string html =
      "<h2>Measured where</h2><table>" +
      row_of({"suite", "points", "device", "driver", "toolkit", "counters", "clocks", "cache", "commit"},
             "th");
  for (const Recording& recording : recordings) {
    const RecordingHead& head = recording.head;
    html += row_of({head.suite, std::to_string(recording.rows.size()), head.device.name, head.driver,
                    head.toolkit, head.profiler, head.clocks_policy, head.cache_control, head.commit},
                   "td");
  }
  return html + "</table>\n";
}

std::string summary_table(const Comparison& comparison) {
  std::string html =
      "<h2>Errors of the predictions</h2><p>Absolute relative deviations. Points that a model was fitted on "
      "are never counted with those that it was not.</p><table>" +
      row_of({"suite", "device", "counter", "model", "group", "fitted", "points", "mean", "median",
              "95th percentile", "worst", "worst point"},
             "th");
  for (const GroupSummary& group : comparison.groups) {
    for (const bool fitted : {false, true}) {
      const auto& errors = fitted ? group.fitted : group.not_fitted;
      if (!errors) continue;
      html += row_of(
          {group.suite, group.device, group.counter, group.model, group.group.empty() ? "all" : group.group,
           fitted ? "yes" : "no", std::to_string(errors->points), percent(errors->mape),
           percent(errors->median), percent(errors->p95), percent(errors->worst), errors->worst_point},
          "td", group.group.empty() ? "all" : "");
    }
  }
  return html + "</table>\n";
}

std::string rows_table(const Comparison& comparison) {
  std::string html = "<h2>Every point</h2><table>" +
                     row_of({"suite", "device", "point", "counter", "model", "predicted", "measured",
                             "deviation", "spread", "tolerance", "fitted", "verdict", "cause"},
                            "th");
  for (const ComparisonRow& row : comparison.rows) {
    const char* const pattern = compares_by_difference(row.counter) ? "%.4f" : "%.0f";
    html += row_of({row.suite, row.device, row.point, row.counter, row.model, number(pattern, row.predicted),
                    number(pattern, row.measured), percent(row.deviation), percent(row.spread),
                    row.tolerance ? percent(*row.tolerance) : "", row.fitted ? "yes" : "no",
                    to_string(row.verdict), row.cause},
                   "td",
                   row.verdict == Verdict::kOutside     ? "bad"
                   : row.verdict == Verdict::kKnownMiss ? "known"
                                                        : "");
  }
  return html + "</table>\n";
}

/// Nothing when all points are off its axes: zeros, on logarithmic ones.
std::string chart_or_nothing(const Chart& chart) {
  const auto shown = [&](const std::pair<double, double>& point) {
    return std::isfinite(point.first) && std::isfinite(point.second) && (!chart.log_x || point.first > 0) &&
           (!chart.log_y || point.second > 0);
  };
  const bool any = std::any_of(chart.series.begin(), chart.series.end(), [&](const Series& series) {
    return std::any_of(series.points.begin(), series.points.end(), shown);
  });
  return any ? svg_chart(chart) + "\n" : "";
}

/// Predicted against measured, a chart a counter and suite.
std::string scatter_charts(const Comparison& comparison) {
  std::map<std::string, Chart> charts;
  for (const ComparisonRow& row : comparison.rows) {
    const std::string title = row.suite + " on " + row.device + ": " + row.counter;
    Chart& chart = charts[title];
    chart.title = title;
    chart.x_label = "measured";
    chart.y_label = "predicted";
    chart.diagonal = true;
    chart.log_x = chart.log_y = !compares_by_difference(row.counter);
    const std::string name = row.model.substr(0, 22);
    if (chart.series.empty() || chart.series.back().name != name) {
      bool known = false;
      for (const Series& series : chart.series) known = known || series.name == name;
      if (!known) chart.series.push_back({name, {}, false});
    }
    for (Series& series : chart.series) {
      if (series.name == name) series.points.emplace_back(row.measured, row.predicted);
    }
  }
  std::string html;
  for (const auto& [key, chart] : charts) html += chart_or_nothing(chart);
  return html;
}

/// Curves over the sequence length, one a group, of the single-head points with the default tiles of each
/// head dim.
std::string length_charts(const Recording& recording, const std::string& title, const std::string& y_label,
                          const std::function<std::optional<double>(const RecordedRow&)>& value) {
  std::map<std::string, Chart> charts;
  for (const RecordedRow& row : recording.rows) {
    const auto* const point = std::get_if<AttentionPoint>(&row.point);
    const std::optional<double> y = value(row);
    if (point == nullptr || !y || point->problem.heads != 1) continue;
    const kernels::AttentionVariant& v = point->variant;
    const std::string tiles =
        std::to_string(v.q_tile) + "x" + std::to_string(v.kv_tile) + "x" + std::to_string(v.stages);
    const std::string key = title + ": head dim " + std::to_string(point->problem.head_dim) + ", " +
                            (point->problem.causal ? "causal" : "full") + ", " +
                            kernels::to_string(point->problem.dtype) + ", " + tiles + ", " +
                            std::to_string(v.ctas_per_sm) + " CTAs an SM";
    Chart& chart = charts[key];
    chart.title = key;
    chart.x_label = "tokens";
    chart.y_label = y_label;
    chart.log_y = true;
    const std::string name = std::string(kernels::to_string(v.schedule)) + " " + kernels::to_string(v.walk) +
                             (v.last_q_tile_first ? ", last first" : "");
    auto series = std::find_if(chart.series.begin(), chart.series.end(),
                               [&](const Series& s) { return s.name == name; });
    if (series == chart.series.end()) series = chart.series.insert(series, Series{name, {}, true});
    series->points.emplace_back(static_cast<double>(point->problem.tokens), *y);
  }
  std::string html;
  for (auto& [key, chart] : charts) {
    std::size_t most = 0;
    for (Series& series : chart.series) {
      std::sort(series.points.begin(), series.points.end());
      most = std::max(most, series.points.size());
    }
    if (most >= 3) html += chart_or_nothing(chart);
  }
  return html;
}

}  // namespace

std::optional<double> teraflops(const RecordedRow& row) {
  const auto* const point = std::get_if<AttentionPoint>(&row.point);
  if (point == nullptr || !row.timing || !(row.timing->milliseconds.median > 0)) return std::nullopt;
  return point->problem.operations() / row.timing->milliseconds.median * 1e-9;
}

std::string html_report(const std::vector<Recording>& recordings, const Comparison& comparison,
                        const std::string& views) {
  std::string html =
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>natten-sim validate</title><style>"
      "body{font:14px sans-serif;margin:2em;max-width:1400px}table{border-collapse:collapse;font-size:12px}"
      "td,th{border:1px solid #ccc;padding:2px "
      "6px;text-align:left}tr.all{font-weight:bold}tr.bad{background:#fdd}"
      "tr.known{background:#ffd}</style></head><body>\n<h1>Predictions against measurements</h1>\n<p>" +
      std::to_string(comparison.rows.size()) + " comparisons, " + std::to_string(comparison.outside) +
      " out of tolerance.</p>\n" + head_table(recordings) + summary_table(comparison) +
      scatter_charts(comparison);
  for (const Recording& recording : recordings) {
    html +=
        length_charts(recording, "DRAM reads", "bytes", [](const RecordedRow& row) -> std::optional<double> {
          const auto found = row.counters.find("dram_read_bytes");
          if (found == row.counters.end()) return std::nullopt;
          return found->second.spread.median;
        });
    html += length_charts(recording, "Throughput", "TFLOP/s", teraflops);
  }
  html += views + rows_table(comparison);
  if (!comparison.notes.empty()) {
    html += "<h2>Not compared</h2><ul>";
    for (const std::string& note : comparison.notes) html += "<li>" + escaped_html(note) + "</li>";
    html += "</ul>\n";
  }
  return html + "</body></html>\n";
}

}  // namespace natten_sim::validate

#include <cmath>

#include <fmt/format.h>

#include <natten_sim/report/draw/html_page.hpp>
#include <natten_sim/report/validation_page.hpp>
#include <natten_sim/report/validation_report.hpp>
#include <natten_sim/report/draw/chart.hpp>
#include <natten_sim/validate/compare/saving.hpp>

#include "validate/validation_pictures.hpp"

namespace natten_sim::report {
namespace {

using validate::ComparisonRow;
using validate::Verdict;

std::string percent_text(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.3f} %", 100 * fraction) : "nothing measured";
}

draw::HtmlTable head_table(const std::vector<validate::Recording>& recordings) {
  draw::HtmlTable table;
  table.header = {"suite", "points", "device", "driver", "toolkit", "counters", "clocks", "cache", "commit"};
  for (const validate::Recording& recording : recordings) {
    const validate::RecordingHead& head = recording.head;
    table.rows.push_back({{head.suite, std::to_string(recording.rows.size()), head.device.name, head.driver,
                           head.toolkit, head.profiler, head.clocks_policy, head.cache_control,
                           head.commit}});
  }
  return table;
}

draw::HtmlTable error_table(const validate::Comparison& comparison) {
  draw::HtmlTable table;
  table.header = {"suite",  "device", "counter", "model",  "group",           "fitted",
                  "points", "mean",   "median",  "95th percentile", "worst", "worst point"};
  for (const validate::GroupSummary& group : comparison.groups) {
    for (const bool fitted : {false, true}) {
      const auto& errors = fitted ? group.fitted : group.not_fitted;
      if (!errors) continue;
      const bool all = group.group.empty();
      table.rows.push_back(
          {{group.suite, group.device, group.counter, group.model, all ? "all" : group.group,
            fitted ? "yes" : "no", std::to_string(errors->points), percent_text(errors->mape),
            percent_text(errors->median), percent_text(errors->p95), percent_text(errors->worst),
            errors->worst_point},
           all ? draw::RowTone::kStrong : draw::RowTone::kPlain});
    }
  }
  return table;
}

draw::RowTone tone_of(Verdict verdict) {
  return verdict == Verdict::kOutside     ? draw::RowTone::kFailure
         : verdict == Verdict::kKnownMiss ? draw::RowTone::kWarning
                                          : draw::RowTone::kPlain;
}

draw::HtmlTable point_table(const validate::Comparison& comparison) {
  draw::HtmlTable table;
  table.header = {"suite",     "device", "point",     "counter", "model",   "predicted", "measured",
                  "deviation", "spread", "tolerance", "fitted",  "verdict", "cause"};
  for (const ComparisonRow& row : comparison.rows) {
    const int digits = validate::compares_by_difference(row.counter) ? 4 : 0;
    table.rows.push_back({{row.suite, row.device, row.point, row.counter, row.model,
                           fmt::format("{:.{}f}", row.predicted, digits),
                           fmt::format("{:.{}f}", row.measured, digits), percent_text(row.deviation),
                           percent_text(row.spread), row.tolerance ? percent_text(*row.tolerance) : "",
                           row.fitted ? "yes" : "no", to_string(row.verdict), row.cause},
                          tone_of(row.verdict)});
  }
  return table;
}

void add_views(draw::HtmlPage& page, const RecordedData& data) {
  for (const ViewKind* kind : view_kinds()) {
    const std::optional<ValidationView> view = kind->make(data);
    if (!view) continue;
    page.heading(kind->name);
    if (view->picture) page.picture(*view->picture);
    page.preformatted(view->text);
  }
}

}  // namespace

std::string validation_page(const std::vector<validate::Recording>& recordings,
                            const validate::Comparison& comparison, const RecordedData& data) {
  draw::HtmlPage page("Predictions against measurements");
  page.paragraph(verdict_text(comparison) + ".");
  page.heading("Measured where").table(head_table(recordings));
  page.heading("Errors of the predictions")
      .paragraph("Absolute relative deviations. Points that a model was fitted on are never counted with "
                 "those that it was not.")
      .table(error_table(comparison));
  for (const draw::ScatterPlot& plot : comparison_plots(comparison)) page.picture(render(plot));
  for (const validate::Recording& recording : recordings) {
    for (const draw::CurvePlot& plot : recorded_curves(recording)) page.picture(render(plot));
  }
  add_views(page, data);
  page.heading("Every point").table(point_table(comparison));
  if (!comparison.notes.empty()) page.heading("Not compared").list(comparison.notes);
  return std::move(page).finish();
}

}  // namespace natten_sim::report

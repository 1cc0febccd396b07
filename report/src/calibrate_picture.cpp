#include <fmt/format.h>

#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/draw/chart.hpp>

namespace natten_sim::report {
namespace {

draw::Picture draw_runs(const study::CalibrateAnswer& answer, const study::Context&) {
  draw::ScatterPlot plot{.heading = {"Calibration", "runs that were fitted"}, .quantity = "ms", .tolerances = {{.relative = 0.1}}};
  std::vector<double> values;
  for (const study::CalibratedPass& pass : answer.passes) {
    draw::MeasuredSeries series{fmt::format("{} {}, head dim {}, {}", pass.kernel, pass.runs.front().run.pass == Walk::kForward ? "forward" : "backward",
                                            pass.head_dim, pass.device),
                                {}};
    for (const study::CalibratedRun& run : pass.runs) {
      series.points.push_back({.measured = *run.run.ms,
                               .predicted = run.predicted_ms,
                               .detail = to_string(run.run.input) + " window " + to_string(run.run.window)});
      values.insert(values.end(), {*run.run.ms, run.predicted_ms});
    }
    plot.series.push_back(std::move(series));
  }
  plot.scale = draw::scale_for(values);
  return picture_of(plot);
}

}  // namespace

const PictureKinds<study::CalibrateAnswer>& calibrate_pictures() {
  static const PictureKinds<study::CalibrateAnswer> kinds = {
      {.name = "runs", .what = "predicted against measured milliseconds of the runs", .draw = draw_runs}};
  return kinds;
}

}  // namespace natten_sim::report

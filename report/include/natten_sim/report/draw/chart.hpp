#pragma once

#include <span>
#include <variant>

#include <natten_sim/report/draw/bar_chart.hpp>
#include <natten_sim/report/draw/curve.hpp>
#include <natten_sim/report/draw/dot_plot.hpp>
#include <natten_sim/report/draw/heat_map.hpp>
#include <natten_sim/report/draw/histogram.hpp>
#include <natten_sim/report/draw/scatter_plot.hpp>

namespace natten_sim::draw {

/// Pictures that can be drawn again in another width, with text of the same size. Tile maps, Gantt charts and
/// rooflines can only be scaled.
using Chart = std::variant<BarChart, CurvePlot, DotPlot, HeatMap, Histogram, ScatterPlot>;

/// As render. All but a heat map have `at_width`. @throws as render
[[nodiscard]] Picture picture_of(const Chart& chart);
/// As beside; one chart without a heading is drawn alone. @throws std::invalid_argument without a chart or with
/// fewer than one column.
[[nodiscard]] Picture picture_of(std::span<const Chart> charts, int columns, const Heading& heading = {});

}  // namespace natten_sim::draw

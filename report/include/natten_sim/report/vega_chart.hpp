#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <natten_sim/report/draw/bar_chart.hpp>
#include <natten_sim/report/draw/curve.hpp>
#include <natten_sim/report/draw/dot_plot.hpp>
#include <natten_sim/report/draw/heat_map.hpp>
#include <natten_sim/report/draw/histogram.hpp>
#include <natten_sim/report/draw/scatter_plot.hpp>

namespace natten_sim::report {

/// Charts that a library draws too: as pictures by draw::render, and as Vega-Lite specifications of the same
/// numbers, axes and colours, for HTML reports and for the pictures of docs. Tile maps, Gantt charts and
/// rooflines have no such form: our own drawing stays for what no library draws.
///
///     page.chart_library(vega_bundle(), vega_config(Scheme::kLight), vega_config(Scheme::kDark));
///     page.chart(vega_lite(plot));
///     write_picture("misses.vl.json", picture_of(plot));
using Chart = std::variant<draw::BarChart, draw::CurvePlot, draw::DotPlot, draw::HeatMap, draw::Histogram,
                           draw::ScatterPlot>;

/// One JSON object as text, drawn in the colours of `vega_config`. Data are inside; nothing is loaded. Same
/// calls, same bytes.
[[nodiscard]] std::string vega_lite(const Chart& chart);

/// The picture with its specification: complete, light as it stands, with the configuration for dark pages in
/// `usermeta.dark`. @throws as draw::render
[[nodiscard]] draw::Picture picture_of(const draw::BarChart& chart);
[[nodiscard]] draw::Picture picture_of(const draw::CurvePlot& plot);
[[nodiscard]] draw::Picture picture_of(const draw::DotPlot& plot);
[[nodiscard]] draw::Picture picture_of(const draw::HeatMap& map);
[[nodiscard]] draw::Picture picture_of(const draw::Histogram& histogram);
[[nodiscard]] draw::Picture picture_of(const draw::ScatterPlot& plot);
/// As draw::beside. @throws std::invalid_argument without a chart or with fewer than one column.
[[nodiscard]] draw::Picture picture_of(std::span<const Chart> charts, int columns,
                                       const draw::Heading& heading = {});

enum class Scheme { kLight, kDark };
/// Settings of vegaEmbed: colours of the palette for one scheme.
[[nodiscard]] std::string vega_config(Scheme scheme);

/// The script that defines vegaEmbed: Vega, Vega-Lite and vega-embed in one, about 900 kB (data/vega).
[[nodiscard]] std::string_view vega_bundle();

}  // namespace natten_sim::report

#pragma once

#include <string>
#include <string_view>

#include <natten_sim/report/draw/curve.hpp>
#include <natten_sim/report/draw/dot_plot.hpp>
#include <natten_sim/report/draw/scatter_plot.hpp>

namespace natten_sim::report {

/// Plots as Vega-Lite specifications, for HTML reports: the same plots that draw::render makes SVG of, with
/// the same colours, and values that answer to the pointer. Tile maps, Gantt charts and cache strips have no
/// such form: our own drawing stays for what no library draws.
///
///     page.chart_library(vega_bundle(), vega_config(Scheme::kLight), vega_config(Scheme::kDark));
///     page.chart(vega_lite(plot));
///
/// Each is one JSON object as text. Data are inside; nothing is loaded. Same calls, same bytes.
[[nodiscard]] std::string vega_lite(const draw::DotPlot& plot);
[[nodiscard]] std::string vega_lite(const draw::CurvePlot& plot);
[[nodiscard]] std::string vega_lite(const draw::ScatterPlot& plot);

enum class Scheme { kLight, kDark };
/// Settings of vegaEmbed: colours of the palette for one scheme.
[[nodiscard]] std::string vega_config(Scheme scheme);

/// The script that defines vegaEmbed: Vega, Vega-Lite and vega-embed in one, about 900 kB (data/vega).
[[nodiscard]] std::string_view vega_bundle();

}  // namespace natten_sim::report

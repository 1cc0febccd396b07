#pragma once

#include <natten_sim/report/vega_chart.hpp>

#include "vega/parts.hpp"

namespace natten_sim::report::vega {

/// One chart of each kind, without `$schema` and configuration; one file each.
[[nodiscard]] Json chart_of(const draw::BarChart& chart);
[[nodiscard]] Json chart_of(const draw::CurvePlot& plot);
[[nodiscard]] Json chart_of(const draw::DotPlot& plot);
[[nodiscard]] Json chart_of(const draw::HeatMap& map);
[[nodiscard]] Json chart_of(const draw::Histogram& histogram);
[[nodiscard]] Json chart_of(const draw::ScatterPlot& plot);

}  // namespace natten_sim::report::vega

#pragma once

#include <string>
#include <utility>
#include <vector>

#include <natten_sim/report/draw/annotation.hpp>
#include <natten_sim/report/draw/axis.hpp>
#include <natten_sim/report/draw/legend.hpp>
#include <natten_sim/report/draw/palette.hpp>
#include <natten_sim/report/json.hpp>

namespace natten_sim::report::vega {

/// Pieces of Vega-Lite specifications that charts share.

/// Of a picture's width, in pixels: labels of ticks, title and margins; those of a square plot.
inline constexpr double kAxisRoom = 88, kSquareRoom = 80;
inline constexpr double kLabelSize = 12;

/// The name of a colour as a parameter, which the configuration of each scheme defines: one specification is
/// drawn light and dark.
[[nodiscard]] std::string parameter_name(const draw::Paint& paint);
/// {"expr": "c2"}
[[nodiscard]] Json color_of(const draw::Paint& paint);
[[nodiscard]] Json color_of(draw::Role role);

/// A chart with its title, wrapped to `width` pixels.
[[nodiscard]] Json chart_of(const draw::Heading& heading, double width);
/// An array of numbers, or of objects.
[[nodiscard]] Json data_of(Json values);

/// A field on an axis with the ends and the ticks of draw's pictures.
[[nodiscard]] Json quantity(const char* field, const draw::AxisSpec& spec, const draw::Axis& axis);
/// A value on that axis.
[[nodiscard]] Json datum(double value);
/// {"value": 12}
[[nodiscard]] Json constant(Json value);

/// A symbol of a series with the radius in pixels that draw gives it.
[[nodiscard]] Json symbol_mark(draw::Symbol symbol, const draw::Paint& paint, double radius);
[[nodiscard]] Json ring_mark(const draw::Paint& paint, double radius);

/// Adds a layer that shows nothing but the legend, in as many columns as fit `width`. No entry: no layer.
void add_legend(Json& layers, const std::vector<draw::LegendEntry>& entries, double width);

[[nodiscard]] Json tooltip(const std::vector<std::pair<std::string, std::string>>& fields);

/// Dashed lines and shaded strips with their labels; none outside the axes.
void add_marks(Json& layers, const std::vector<draw::Mark>& marks, const draw::Axis& x, const draw::Axis& y);
void add_bands(Json& layers, const std::vector<draw::Band>& bands, const draw::Axis& x, const draw::Axis& y);

}  // namespace natten_sim::report::vega

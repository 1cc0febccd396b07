#pragma once

#include <span>
#include <string>

#include <natten_sim/core/tiling.hpp>
#include <natten_sim/report/draw/bar_chart.hpp>
#include <natten_sim/report/draw/curve.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::report {

/// Parts of the pictures of `search` and `advise`.

/// "hunyuan-video, 30x48x80, 24 heads, head dim 128"
[[nodiscard]] std::string setting_subject(const study::Setting& setting);

/// An empty plot of the context that is kept over time.
[[nodiscard]] draw::CurvePlot context_plot(const std::string& subject);
/// Dense attention keeps all.
[[nodiscard]] draw::Series dense_point(double ms, const std::string& label);
/// Time over the context that is kept, the pairs that attend: a line for the front of each device, points for other
/// rows. With a table of a model's own attention also what the first answer's candidates keep of it, where all heads
/// have one window; with a wish of recall alone recall over time where each head, or layer, has a window of its own.
[[nodiscard]] draw::Picture front_picture(std::span<const study::SearchAnswer> answers);

/// A bar whose label is window and stride, with its tiles behind it.
[[nodiscard]] draw::Bar bar_of(const TilingProblem& problem, double value, std::size_t category);
/// Of one device the legend says nothing.
[[nodiscard]] draw::Picture bars_picture(draw::BarChart chart);

}  // namespace natten_sim::report

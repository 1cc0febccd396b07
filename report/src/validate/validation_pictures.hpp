#pragma once

#include <optional>
#include <span>
#include <vector>

#include <natten_sim/report/draw/chart.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/record/recording.hpp>
#include <natten_sim/validate/studies/order_study.hpp>
#include <natten_sim/validate/studies/regime_map.hpp>

namespace natten_sim::report {

/// Pictures of recordings. Predicted curves are lines, measured points marks.

/// A line a dtype and mask, a panel a backend, tokens down, head dims across: our throughput as a share of the
/// backend's. Requires a cell. @throws InvalidParameter when two cells would share a place.
[[nodiscard]] draw::Picture throughput_map(const validate::RegimeMap& map);

/// DRAM reads over the compulsory ones, a plot a curve. Requires a curve.
[[nodiscard]] draw::Picture miss_curves(std::span<const validate::OrderCurve> curves);
/// None where nothing was timed.
[[nodiscard]] std::optional<draw::Picture> throughput_curves(std::span<const validate::OrderCurve> curves);

/// Hit rates and misses over the SMs at work, then what the L2 keeps of streams; none of what is not there.
[[nodiscard]] std::vector<draw::Chart> active_sms_curves(
    std::span<const validate::ActiveSmsPoint> points, std::span<const validate::StreamCapacity> capacities);

/// Predicted against measured, a plot a counter, suite and device.
[[nodiscard]] std::vector<draw::ScatterPlot> comparison_plots(const validate::Comparison& comparison);

/// Curves of a recording's points by Case::curve, of those with three points or more: DRAM reads, then
/// throughput.
[[nodiscard]] std::vector<draw::CurvePlot> recorded_curves(const validate::Recording& recording);

}  // namespace natten_sim::report

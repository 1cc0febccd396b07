#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/report/draw/legend.hpp>

namespace natten_sim::draw {

/// What every worker does when: a row a worker, computes light, reductions dark, waits dotted, a colour a
/// group, the critical path outlined.
///
///     Gantt gantt{.heading = {"Shift schedule", "4 x 4 tiles, 2 heads"}, .rows = 4, .groups = 2};
///     gantt.intervals.push_back({.row = 0, .start = 0, .end = 3, .group = 0, .label = "12"});
///     std::string text = ascii(gantt), svg = render(gantt).svg;
///
/// ascii:
///     1 unit of time a column; digits: Q tile (last digit) computes, = reduces, . waits
///     0 |000=111=|
///     1 |111.000=|

enum class Activity { kCompute, kReduce, kWait };

struct Interval {
  std::int64_t row = 0;       ///< 0 to rows - 1
  double start = 0, end = 0;  ///< 0 <= start; empty ones are not drawn
  Activity activity = Activity::kCompute;
  std::size_t group = 0;     ///< 0 to groups - 1
  std::string label{};       ///< inside a compute with enough room; `ascii` shows its last character
  std::string detail{};      ///< a tooltip
  bool critical = false;     ///< on the critical path
  bool second_lane = false;  ///< in the lower part of the row, beside what the first lane does
};

struct Gantt {
  Heading heading;
  std::int64_t rows = 1;
  std::string row_name = "worker", group_name = "head";
  std::size_t groups = 1;
  std::string label_name = "Q tile";  ///< what the labels are
  std::string time_label = "time";    ///< with its unit
  std::optional<double> span{};       ///< end of the axis; the last end unless given
  std::vector<Interval> intervals;
  double width = 1080;  ///< of the picture, at least 360
};

inline constexpr std::int64_t kMaxIntervals = 100'000;  ///< of a picture
inline constexpr std::int64_t kMaxGanttRows = 2'000;    ///< of a picture
inline constexpr std::int64_t kMaxAsciiRows = 400;

/// O(intervals + rows). @throws LimitExceeded; std::invalid_argument for an interval that is not finite,
/// starts below 0, ends before it starts, or is in no row.
[[nodiscard]] Picture render(const Gantt& gantt);

/// A character a unit of time when all times are whole and the span is at most 160, else 1/160 of the span a
/// column. A column shows what happens in its middle; computes go over reductions and waits. @throws as
/// render, but for more than kMaxAsciiRows.
[[nodiscard]] std::string ascii(const Gantt& gantt);

}  // namespace natten_sim::draw

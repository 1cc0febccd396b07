#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <natten_sim/report/draw/gantt.hpp>

namespace natten_sim::draw {

/// A Gantt chart of more intervals than a page can show: what each row mostly did in each of `columns` equal
/// parts of its span.
///
///     GanttColumns columns(132, 800, makespan);
///     for (const Interval& each : millions) columns.add(each);
///     gantt.intervals = columns.intervals();
class GanttColumns {
 public:
  /// @throws std::invalid_argument without rows, columns or a positive finite span.
  GanttColumns(std::int64_t rows, std::size_t columns, double span);

  /// Adds the interval's time to the columns that it overlaps. Its label, detail and outline are not kept.
  /// O(columns that it overlaps). @throws std::invalid_argument for a row that is not there, or an interval that
  /// ends before it starts or outside 0 to the span.
  void add(const Interval& interval);

  /// A column shows the activity and group that took most of it, the first of equal ones, if its lane was busy for
  /// half of it or more. Columns of one row that show the same are one interval. O(rows * columns).
  [[nodiscard]] std::vector<Interval> intervals() const;

 private:
  struct Share {
    Activity activity;
    std::size_t group;
    double time;
  };
  using Cell = std::vector<Share>;

  [[nodiscard]] const Share* shown(std::size_t lane, std::size_t cell) const;

  std::size_t columns_;
  double width_;  ///< of a column
  std::int64_t rows_;
  std::vector<Cell> lanes_[2];
};

}  // namespace natten_sim::draw

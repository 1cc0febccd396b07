#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <natten_sim/report/draw/gantt_columns.hpp>

namespace natten_sim::draw {

GanttColumns::GanttColumns(std::int64_t rows, std::size_t columns, double span)
    : columns_(columns), width_(span / static_cast<double>(columns)), rows_(rows) {
  if (rows < 1 || columns < 1 || !(span > 0 && std::isfinite(span)))
    throw std::invalid_argument("columns of a Gantt chart need rows, columns and a span");
  for (std::vector<Cell>& lane : lanes_) lane.resize(static_cast<std::size_t>(rows) * columns);
}

void GanttColumns::add(const Interval& interval) {
  const double end = width_ * static_cast<double>(columns_);
  if (interval.row < 0 || interval.row >= rows_ || !(interval.start >= 0 && interval.start <= interval.end) ||
      interval.end > end * (1 + 1e-9))
    throw std::invalid_argument("an interval outside a Gantt chart's rows or span");
  std::vector<Cell>& lane = lanes_[interval.second_lane ? 1 : 0];
  const std::size_t row = static_cast<std::size_t>(interval.row) * columns_;
  for (auto column = static_cast<std::size_t>(interval.start / width_); column < columns_; ++column) {
    const double left = static_cast<double>(column) * width_;
    const double time = std::min(interval.end, left + width_) - std::max(interval.start, left);
    if (interval.end <= left) return;
    if (time <= 0) continue;
    Cell& cell = lane[row + column];
    const auto same = std::find_if(cell.begin(), cell.end(), [&](const Share& share) {
      return share.activity == interval.activity && share.group == interval.group;
    });
    if (same == cell.end())
      cell.push_back({interval.activity, interval.group, time});
    else
      same->time += time;
  }
}

const GanttColumns::Share* GanttColumns::shown(std::size_t lane, std::size_t index) const {
  constexpr double kHalf = 0.5 - 1e-9;
  const Share* most = nullptr;
  double busy = 0;
  for (const Share& share : lanes_[lane][index]) {
    busy += share.time;
    if (most == nullptr || share.time > most->time) most = &share;
  }
  return busy >= kHalf * width_ ? most : nullptr;
}

std::vector<Interval> GanttColumns::intervals() const {
  std::vector<Interval> intervals;
  for (std::size_t lane = 0; lane < 2; ++lane) {
    for (std::int64_t row = 0; row < rows_; ++row) {
      Interval* last = nullptr;
      for (std::size_t column = 0; column < columns_; ++column) {
        const Share* share = shown(lane, static_cast<std::size_t>(row) * columns_ + column);
        const double end = static_cast<double>(column + 1) * width_;
        if (share != nullptr && last != nullptr && last->activity == share->activity && last->group == share->group) {
          last->end = end;
          continue;
        }
        last = nullptr;
        if (share == nullptr) continue;
        intervals.push_back({.row = row,
                             .start = static_cast<double>(column) * width_,
                             .end = end,
                             .activity = share->activity,
                             .group = share->group,
                             .second_lane = lane == 1});
        last = &intervals.back();
      }
    }
  }
  return intervals;
}

}  // namespace natten_sim::draw

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <natten_sim/search/windows/time_search.hpp>

#include "windows/candidate_order.hpp"

namespace natten_sim {

struct TimedPoint {
  double ms = 0;
  RankedPoint point;
};

/// Sorts by time; among equal times by `order`.
template <typename Point>
void sort_by_time(std::vector<Point>& points, const ContextOrder& order) {
  std::sort(points.begin(), points.end(), [](const TimedPoint& a, const TimedPoint& b) { return a.ms < b.ms; });
  for (auto first = points.begin(); first != points.end();) {
    const double most_ms = first->ms * (1 + kEqualTimes);
    const auto end = std::find_if(first, points.end(), [&](const TimedPoint& each) { return each.ms > most_ms; });
    std::sort(first, end, [&](const TimedPoint& a, const TimedPoint& b) { return order(a.point, b.point); });
    first = end;
  }
}

/// Rows that differ as asked for, the fastest first.
class TimedRows {
 public:
  TimedRows(const SearchSpace& space, std::size_t top, Distinct distinct)
      : order_(space), top_(top), distinct_(distinct), most_kept_(2 * top + 64) {}

  void add(TimedPoint point) {
    Key key = key_of(point.point);
    if (!key.empty()) {
      const auto [at, added] = least_ms_.try_emplace(key, point.ms);
      if (!added) at->second = std::min(at->second, point.ms);
    }
    all_.push_back({std::move(point), std::move(key)});
  }

  /// Whether the point's row has a time below this bound already, so that its own time cannot matter.
  [[nodiscard]] bool is_beaten(const RankedPoint& point, double least_ms) const {
    const Key key = key_of(point);
    const auto known = key.empty() ? least_ms_.end() : least_ms_.find(key);
    return known != least_ms_.end() && known->second * (1 + kEqualTimes) < least_ms;
  }

  /// The best so far. Points come with growing bounds, so this is final once the next bound is above.
  [[nodiscard]] std::vector<TimedPoint> best() {
    sort_by_time(all_, order_);
    std::vector<TimedPoint> chosen;
    std::set<Key> seen;
    for (KeyedPoint& each : all_) {
      each.first = each.key.empty() || seen.insert(each.key).second;
      if (each.first && chosen.size() < top_) chosen.push_back(each);
    }
    if (chosen.size() == top_) drop_slower_than(chosen.back().ms);
    if (all_.size() > most_kept_) drop_preceded();
    return chosen;
  }

 private:
  using Key = std::vector<std::int64_t>;
  struct KeyedPoint : TimedPoint {
    Key key;
    bool first = true;  ///< of its row
  };

  /// What a row has for itself; empty: every point is a row.
  [[nodiscard]] Key key_of(const RankedPoint& point) const {
    Key key;
    if (distinct_ == Distinct::kWindow || distinct_ == Distinct::kStride)
      key.assign(point.window.begin(), point.window.end());
    if (distinct_ == Distinct::kStride) key.insert(key.end(), point.stride.begin(), point.stride.end());
    return key;
  }

  /// Points that come later only move these further back. `all_` is sorted.
  void drop_slower_than(double ms) {
    const double most_ms = ms * (1 + 3 * kEqualTimes);  // what may be equal to the last row stays
    while (all_.back().ms > most_ms) all_.pop_back();
  }

  /// Drops what comes after one of its row, or after as many rows as are wanted, whichever times turn out to be equal:
  /// those are before it by time and by order alike.
  void drop_preceded() {
    std::vector<KeyedPoint> kept;
    for (KeyedPoint& each : all_) {
      std::size_t rows = 0;
      const bool preceded = std::any_of(kept.begin(), kept.end(), [&](const KeyedPoint& other) {
        if (other.ms > each.ms || !order_(other.point, each.point)) return false;
        rows += other.first ? 1U : 0U;
        return rows == top_ || (!each.key.empty() && each.key == other.key);
      });
      if (!preceded) kept.push_back(std::move(each));
    }
    all_ = std::move(kept);
    most_kept_ = std::max(most_kept_, 2 * all_.size());
  }

  std::map<Key, double> least_ms_;
  ContextOrder order_;
  std::size_t top_;
  Distinct distinct_;
  std::size_t most_kept_;  ///< before points are looked through for those that others precede
  std::vector<KeyedPoint> all_;
};

}  // namespace natten_sim

#pragma once

#include <deque>

#include "windows/attended_pairs.hpp"
#include "windows/axis_counts.hpp"
#include "windows/pass_works.hpp"

namespace natten_sim {

/// See make_axis_memory(). What it gives stays where it is.
class AxisMemory {
 public:
  /// `axis` tells all but window and stride.
  [[nodiscard]] AxisCounts& counts_of(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling, Walk walk) {
    for (AxisCounts& each : counts_) {
      if (each.are_of(axis, tiles, kv_tiling, walk)) return each;
    }
    return counts_.emplace_back(axis, tiles, kv_tiling, walk);
  }

  /// `axis` tells all but window and stride.
  [[nodiscard]] AttendedPairs& pairs_of(const AxisMask& axis, const IntRange& strides) {
    for (AttendedPairs& each : pairs_) {
      if (each.are_of(axis, strides)) return each;
    }
    return pairs_.emplace_back(axis, strides);
  }

  [[nodiscard]] PassWorks& works_of(const PassAlong& pass) {
    for (PassWorks& each : works_) {
      if (each.pass() == pass) return each;
    }
    return works_.emplace_back(pass);
  }

 private:
  std::deque<AttendedPairs> pairs_;
  std::deque<AxisCounts> counts_;
  std::deque<PassWorks> works_;
};

}  // namespace natten_sim

#pragma once

#include <cstddef>
#include <vector>

#include <natten_sim/models/tiles/axis_count.hpp>

namespace natten_sim {

/// Remembers counts of axes. A count is a product over axes, and the problems of a batch share theirs: of
/// all windows and strides on 30x48x80 there are 10^10, on their axes 4,875. Not for several threads.
class AxisCountMemo {
 public:
  /// As count_axis().
  [[nodiscard]] AxisCount count(const AxisMask& axis, const AxisTiles& tiles, KvTiling kv_tiling, Walk walk);

 private:
  struct Question {
    AxisMask axis;
    AxisTiles tiles;
    KvTiling kv_tiling = KvTiling::kStatic;
    Walk walk = Walk::kForward;
    friend bool operator==(const Question&, const Question&) = default;
  };
  struct Entry {
    Question question;
    AxisCount count;
    bool known = false;
  };
  [[nodiscard]] static std::size_t place_of(const Question& question);

  static constexpr std::size_t kEntries = 1 << 13;  // a power of two; about 1 MB
  std::vector<Entry> entries_ = std::vector<Entry>(kEntries);
};

}  // namespace natten_sim

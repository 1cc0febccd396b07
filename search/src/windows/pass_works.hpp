#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <natten_sim/core/natten_backend.hpp>
#include <natten_sim/core/tile_count.hpp>
#include <natten_sim/models/tiles/cutlass_ctas.hpp>

namespace natten_sim {

/// What one pass does along one axis, summed over its dilation groups: factors of the whole launch.
struct AxisWork {
  std::int64_t ctas = 0;
  std::int64_t visited = 0;
  std::int64_t without_elements = 0;  ///< pairs whose group, or tile, evaluates no mask
  std::int64_t unmasked = 0;          ///< of those, without a check for padding
  double filled = 0;                  ///< visited, less what their tiles lack of cutlass-fna (CutlassAxis::filled)
  std::int64_t longest = 0, shortest = 0;  ///< pairs of the CTA with most, and with fewest
  bool even = false;                  ///< all CTAs do the same
};

/// Pairs of tiles, and those of them that have all of their tokens (AxisWork::filled); or the least of both.
struct Visits {
  double all = 1, filled = 1;

  [[nodiscard]] Visits times(const Visits& more) const { return {all * more.all, filled * more.filled}; }
  [[nodiscard]] Visits over(double pairs) const { return {all / pairs, filled / pairs}; }
  [[nodiscard]] Visits least(const Visits& other) const { return {std::min(all, other.all), std::min(filled, other.filled)}; }
  [[nodiscard]] Visits most(const Visits& other) const { return {std::max(all, other.all), std::max(filled, other.filled)}; }
  /// Full pairs that take as long.
  [[nodiscard]] double full(double clipped_share) const { return all - clipped_share * (all - filled); }
};

[[nodiscard]] inline Visits visits_of(const AxisWork& axis) { return {static_cast<double>(axis.visited), axis.filled}; }

/// One pass along one axis.
struct PassAlong {
  AxisMask axis;    ///< but for its window and stride
  TilePair tiles;   ///< along the axis
  NattenBackend family = NattenBackend::kHopperFna;
  Walk walk = Walk::kForward;
  bool slowest = true;  ///< CTAs are launched along the other axes first

  friend bool operator==(const PassAlong&, const PassAlong&) = default;
};

/// Work of one pass along one axis with any window and stride, by what its time depends on. Tile choices pair the same
/// forward tiles with many backward ones, and searches follow each other: a short axis is worked out once.
class PassWorks {
 public:
  static constexpr std::int64_t kLongest = 4096;  ///< longer axes have too many options to keep

  struct Work {
    std::size_t number = 0;  ///< the same for works that take the same time whatever the other axes are
    const std::vector<std::int64_t>* key = nullptr;  ///< what tells them apart: every CTA's tiles
    AxisWork along;
  };

  explicit PassWorks(PassAlong pass)
      : pass_(std::move(pass)),
        of_option_(pass_.axis.length <= kLongest ? static_cast<std::size_t>(pass_.axis.length) + 1 : 0) {}

  [[nodiscard]] const PassAlong& pass() const { return pass_; }

  [[nodiscard]] const Work& of(std::int64_t window, std::int64_t stride) {
    if (of_option_.empty()) return works_[number_of(window, stride)];
    std::vector<std::uint32_t>& of_window = of_option_[static_cast<std::size_t>(window)];
    if (of_window.empty()) of_window.resize(static_cast<std::size_t>(window));
    std::uint32_t& number = of_window[static_cast<std::size_t>(stride) - 1];
    if (number == 0) number = static_cast<std::uint32_t>(number_of(window, stride)) + 1;
    return works_[number - 1];
  }

 private:
  [[nodiscard]] AxisWork work_along(const AxisMask& axis);
  void add_pairs(const std::array<std::int64_t, kLateCtas>& pairs);  // to the key
  [[nodiscard]] std::size_t number_of(std::int64_t window, std::int64_t stride);

  PassAlong pass_;
  std::vector<std::int64_t> key_;
  std::map<std::vector<std::int64_t>, std::size_t> numbers_;
  std::deque<Work> works_;                             // by number
  std::vector<std::vector<std::uint32_t>> of_option_;  // [window][stride - 1]: numbers from 1; 0: nobody asked
};

}  // namespace natten_sim

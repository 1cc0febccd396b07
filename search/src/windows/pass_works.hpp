#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
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
  std::int64_t longest = 0;           ///< pairs of the CTA with most
  bool even = false;                  ///< all CTAs do the same
  std::shared_ptr<const CutlassAxis> cutlass = {};  ///< of cutlass-fna alone
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

  /// `axis` tells all but window and stride; tiles are those along it.
  PassWorks(const AxisMask& axis, TilePair tiles, NattenBackend family, Walk walk)
      : axis_(axis), tiles_(std::move(tiles)), family_(family), walk_(walk),
        of_option_(axis.length <= kLongest ? static_cast<std::size_t>(axis.length) + 1 : 0) {}

  [[nodiscard]] bool are_of(const AxisMask& axis, const TilePair& tiles, NattenBackend family, Walk walk) const {
    return axis == axis_ && tiles == tiles_ && family == family_ && walk == walk_;
  }

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
  [[nodiscard]] std::size_t number_of(std::int64_t window, std::int64_t stride);

  AxisMask axis_;
  TilePair tiles_;
  NattenBackend family_;
  Walk walk_;
  std::vector<std::int64_t> key_;
  std::map<std::vector<std::int64_t>, std::size_t> numbers_;
  std::deque<Work> works_;                             // by number
  std::vector<std::vector<std::uint32_t>> of_option_;  // [window][stride - 1]: numbers from 1; 0: nobody asked
};

}  // namespace natten_sim

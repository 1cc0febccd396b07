#pragma once

#include <optional>
#include <vector>

#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>
#include <natten_sim/study/time.hpp>

#include "timed_kernel.hpp"

namespace natten_sim::study {

/// How often the visits of one head are made.
[[nodiscard]] std::int64_t repeats_of(const TimeQuestion& question);

/// Whether the kernel evaluates the question's mask in full tiles too.
[[nodiscard]] bool masks_full_tiles(const TimeQuestion& question, const TimedKernel& kernel, std::int64_t partial_tiles);

/// Times of one head's CTAs in launch order, when tiles of a launch that masks all alike take the mean.
[[nodiscard]] std::vector<double> cta_times(const TimeQuestion& question, const TimedKernel& kernel,
                                            const PassCosts& costs, const LaunchWork& work);

/// The longest worker's load in mean CTAs, CTA by CTA.
[[nodiscard]] double simulated_waves(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs,
                                     const LaunchWork& work, std::int64_t sms);

/// The CTAs along one axis: those of a head are products over its axes, and so are all these but `full` least of products.
struct AxisCtas {
  double count = 0, tiles = 0, full = 0;  ///< sums
  std::int64_t least_tiles = 0, most_tiles = 0, least_full = 0, most_full = 0;
};

/// Remembers axes. Not for several threads.
class AxisCtaMemo {
 public:
  /// As list_ctas() lists them.
  [[nodiscard]] const AxisCtas& ctas(const AxisMask& axis, const AxisTiles& tiles, NattenBackend family, Walk walk);

 private:
  struct Entry {
    AxisMask axis;
    AxisTiles tiles;
    NattenBackend family = NattenBackend::kHopperFna;
    Walk walk = Walk::kForward;
    bool known = false;
    AxisCtas ctas;
  };
  static constexpr std::size_t kEntries = 1 << 13;  // a power of two
  std::vector<Entry> entries_ = std::vector<Entry>(kEntries);
};

/// What simulated_waves() lies between, by Graham's bounds; CTAs that are alike, and those that all run at once, have
/// their exact waves. None: CTAs that share an SM, lists of blocks, and dense kernels.
[[nodiscard]] std::optional<WaveBounds> bounded_waves(const TimeQuestion& question, const TimedKernel& kernel,
                                                      const PassCosts& costs, const LaunchWork& work, AxisCtaMemo& memo);

}  // namespace natten_sim::study

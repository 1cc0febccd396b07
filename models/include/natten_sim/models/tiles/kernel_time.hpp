#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <natten_sim/core/kernel_costs.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>

namespace natten_sim {

/// From visited tiles to milliseconds. A launch runs CTAs on workers (SMs times the CTAs that fit on one);
/// a CTA takes a constant and, for every pair of tiles, the time of that pair's masking class. The launch is
/// over when its longest worker is; long runs slow down under the power limit.
///
/// Not modelled: DRAM and L2 (the tiles of one head stay in L2, and the kernels are bound by arithmetic),
/// clocks that differ from those of the calibration.

/// One of the CTAs that start last.
struct LateCta {
  double length = 0;  ///< of its pairs, over the mean CTA's; 0: none
  double after = 0;   ///< pairs of the CTAs that start after it, in mean CTAs

  friend bool operator==(const LateCta&, const LateCta&) = default;
};
inline constexpr std::size_t kLateCtas = 12;

/// CTAs of a kernel of which several share an SM, and how unlike they are. Lengths are pairs of tiles over the mean.
struct CtaSpread {
  double ctas = 0;       ///< that run; each may walk several tiles
  std::int64_t sms = 1;
  double longest = 1;
  double variance = 0;  ///< of the lengths
  std::array<LateCta, kLateCtas> late = {{{1, 0}}};  ///< through the last head, in launch order
  double alike = 1;  ///< CTAs that begin with the same streamed tile
  double prepared_bytes = 0;  ///< zeroed or summed before the kernel
};

/// What a CTA takes with `resident` CTAs on its SM over what it takes with all `ctas_per_sm` there. Alone it waits for
/// its own latencies, together they wait for the SM: (a + b resident^p)^(1/p) with p 2.5, by the two ends. `lone_share`:
/// of the rate that all have together, what one alone gets; at least 1 / ctas_per_sm counts, 0 is that.
[[nodiscard]] double shared_pace(std::int64_t resident, std::int64_t ctas_per_sm, double lone_share);

/// The load of the longest SM in mean CTAs of one of its `ctas_per_sm` places, in closed form.
/// Fewer CTAs than places: that with the longest ends last, (a longest^p + b sum^p)^(1/p), of all lengths on its SM.
/// More in step: rounds, of which the last shares its SMs with fewer.
/// More out of step: a CTA starts once the mean place has done what comes before it, less half a CTA and what unequal
/// ones add to that (their variance), and ends while its SM's others, at even distances, leave it. The latest end counts.
/// `step_jitter` of a CTA and the variance of lengths, times the root of the rounds, weigh the last two.
/// `tile_share`: of a mean CTA's time, that of its pairs; the rest is alike. O(ctas_per_sm + kLateCtas).
[[nodiscard]] double shared_waves(const CtaSpread& spread, std::int64_t ctas_per_sm, double lone_share, double step_jitter,
                                  double tile_share = 1);

/// What one launch does: all heads and batch elements.
struct LaunchWork {
  double ctas = 0;
  double unmasked_tiles = 0, bounds_masked_tiles = 0, masked_tiles = 0;  ///< pairs that are multiplied
  std::size_t axes = 1;  ///< 1 to 3; decides what evaluating the mask costs
  bool causal = false;   ///< on one of these axes or more
  double missing = 0;  ///< share of the tokens of its pairs' tiles that the tiles lack
  double pace = 1;     ///< what a pair takes over its usual time
  std::int64_t workers = 1;
  /// The load of the longest worker, in mean CTAs: `even_waves`, `uneven_waves` or a simulation.
  double waves = 0;
  std::optional<CtaSpread> spread = {};  ///< gives the waves where `waves` is 0

  [[nodiscard]] double tiles() const noexcept { return unmasked_tiles + bounds_masked_tiles + masked_tiles; }
};

/// Whether such axes have a program of their own.
[[nodiscard]] bool has_causal_program(const PassCosts& costs, std::size_t axes, bool causal) noexcept;

/// Costs that give the same times on so many axes, and need neither `axes_tile_us` nor `causal_two_axes`. Of a program of
/// its own the CTAs an SM are other ones; a CTA alone there takes as long.
[[nodiscard]] PassCosts on_axes(PassCosts costs, std::size_t axes, bool causal) noexcept;

/// Work of `repeats` heads and batch elements, `waves` still to be set. @throws InvalidParameter when
/// `axes` is not 1 to 3, `workers` or `repeats` not positive.
[[nodiscard]] LaunchWork launch_work(const KernelVisits& visits, std::size_t axes, std::int64_t repeats,
                                     std::int64_t workers, bool causal = false);

/// Work of a dense kernel without a mask, that of launch_work(fmha_visits(kernel, queries, keys, false, pass)):
/// for any number of tokens, since the tiles of 2^40 tokens squared do not fit in 63 bits.
[[nodiscard]] LaunchWork dense_launch_work(const FmhaKernel& kernel, std::int64_t queries, std::int64_t keys,
                                           Walk pass, std::int64_t repeats, std::int64_t workers);

/// CTAs of equal length: ceil(ctas / workers), exact for both schedules.
[[nodiscard]] double even_waves(double ctas, std::int64_t workers);

/// CTAs of different length that are taken one after the other by whoever is free (Graham's list
/// scheduling). With the longest CTA `longest` times the mean one, the answer lies between max(ctas /
/// workers, longest) and ctas / workers + (1 - 1 / workers) longest. Behind many waves the workers are out
/// of step, so the last CTA ends half a CTA after the mean worker: the estimate.
struct WaveBounds {
  double least = 0, estimate = 0, most = 0;
};
[[nodiscard]] WaveBounds uneven_waves(double ctas, std::int64_t workers, double longest);

/// Where the time of a launch goes; the parts add up to `total_ms`.
struct LaunchTime {
  double tiles_ms = 0;     ///< multiplying, as if nothing were masked
  double masking_ms = 0;   ///< what bounds and element masks add
  double prologue_ms = 0;  ///< of CTAs, epilogues included
  double tail_ms = 0;      ///< workers that wait for the longest one
  double launch_ms = 0;
  double slowdown_ms = 0;  ///< power
  double total_ms = 0;
};

/// O(1). Linear in all costs but the slow-down.
[[nodiscard]] LaunchTime launch_time(const LaunchWork& work, const PassCosts& costs);

/// `ms` of work when power is no limit, as it takes: ms (1 + s ms / (ms + h)). A launch of masked pairs is spared
/// `spared_slowdown` of what that adds.
[[nodiscard]] double slowed_ms(double ms, const PassCosts& costs) noexcept;

/// Costs of launches that follow each other after `rest_ms`, in which the GPU rests or does lighter work. The
/// power limit acts on the mean of the last `h` milliseconds: of a launch of `ms` and a rest before it the
/// share ms / (ms + rest) is heavy, so that h is replaced by the rest where that is shorter. None: a rest
/// longer than h, as between the turns of several kernels.
[[nodiscard]] PassCosts with_rest(PassCosts costs, std::optional<double> rest_ms) noexcept;

}  // namespace natten_sim

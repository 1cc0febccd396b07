#pragma once

#include <optional>

#include <natten_sim/core/natten_call.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/models/tiles/token_permutation.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/setting.hpp>

namespace natten_sim::study {

// What NATTEN does with a call, beside what the mask needs (TileCount). Counts are for one head and one batch
// element; bytes and times are for all of them.

/// One kernel of a pass.
struct KernelLaunch {
  NattenBackend family = NattenBackend::kHopperFna;
  bool dense = false;  ///< the family's dense kernel, which walks all tokens as one row
  TilePair tiles;      ///< of one axis if dense
  KernelVisits visits;
  std::int64_t mma_pairs = 0;  ///< visited tiles times |q_tile| |kv_tile|
};

/// `hopper-fna`, `cutlass-fmha`.
[[nodiscard]] const char* name_of(const KernelLaunch& launch) noexcept;

/// Times in milliseconds that speedups are made of: predicted ones, else floors by the device's rates.
struct KernelFloors {
  double permutation_ms = 0;  ///< the copies' predicted time, else their bytes over the memory's bandwidth
  bool permutation_timed = false;  ///< whether it is a predicted time
  std::optional<double>
      dense_ms;            ///< dense attention at the rate of `dense_rate`; none: no rate of this type
  std::string dense_rate;  ///< `cudnn` where the catalog has its rate, else `peak`
};

/// Over dense attention with the same kernel and tiles.
struct KernelSpeedups {
  double mean = 1;   ///< by visited tiles
  double worst = 1;  ///< by the launched tile that streams most
  double work = 1;   ///< token pairs over multiplied ones, additional keys counted in both
};

/// All kernels and copies of one pass.
struct KernelPass {
  Walk walk = Walk::kForward;
  bool dense_path = false;  ///< one dense call, whatever backend and tiles were asked for
  KernelLaunch attention;
  std::optional<KernelLaunch> additional;       ///< a second, dense kernel, for additional keys
  std::string schedule;                         ///< of hopper-fna: `non`, `coop`, `pp`; else empty
  bool natten_fast_path = false;                ///< no visited tile runs the element mask
  std::optional<TokenPermutation> permutation;  ///< none: its bytes do not fit in 63 bits
  KernelSpeedups speedup;
  std::optional<KernelFloors> floors;              ///< when the device and its bandwidth are known
  /// With the copies, by the floors; none: no dense_ms, or a ratio of times in its place.
  std::optional<KernelSpeedups> with_permutation;
};

/// Amdahl's law over the whole model; with the copies where a device makes them a time.
struct KernelEndToEnd {
  double mean = 1, worst = 1;
};

/// What a question means to NATTEN.
struct KernelAnswer {
  /// None: NATTEN has no such call (four or cyclic axes, single-dimensional tiling, other backends, KV tiles on another
  /// grid than the backend's; without a backend or device, tiles that the default backend lacks). Backward
  /// tiles are set, and gradients required, with a backward pass.
  std::optional<NattenCall> call;
  std::string version;                   ///< NATTEN's, with a call
  std::optional<NattenRefusal> refusal;  ///< why NATTEN raises on the call
  std::optional<NattenBackend> way_out;  ///< of a refused call, whatever its tiles: a backend that runs it if it is named
  /// Backends made for the setting's device that NATTEN tries before that of the call, and why it left them.
  std::vector<PassedOverBackend> passed_over;
  /// The call's, named or chosen, where the window covers the input: a dense kernel runs in its place.
  std::optional<NattenBackend> unused_backend;
  /// None for a refused call; but if its tiles alone are refused, what kernels with such tiles would do.
  std::optional<KernelPass> forward, backward;
  /// Of the forward pass, when the attention share is known; none with a time: CountAnswer has that ratio.
  std::optional<KernelEndToEnd> end_to_end;
};

/// A counted problem as NATTEN would be asked for it.
struct KernelQuestion {
  const Setting& setting;  ///< resolved
  const TilingProblem& forward;
  const TileCount& forward_count;
  const TilingProblem* backward = nullptr;  ///< with its count: the backward pass is asked for too
  const TileCount* backward_count = nullptr;
  PerAxis<AxisCount> forward_axes = {}, backward_axes = {};  ///< of these counts, where they are known
};

/// Mask, sizes and element type as a call, without backend and tiles. With `backward`, gradients are
/// required.
[[nodiscard]] NattenCall attention_call_of(const Setting& setting, const TilingProblem& forward,
                                           const TilingProblem* backward = nullptr);

/// The call that runs the problem on the backend of the setting (or the default one), on its device (or on
/// the oldest one that the backend is made for). The rules may refuse it. None: as in KernelAnswer.
[[nodiscard]] std::optional<NattenCall> natten_call_of(const Setting& setting, const TilingProblem& forward,
                                                       const TilingProblem* backward, const Context& context);

/// O(1) but for the counts of natten_visits(). @throws OverflowError naming the count.
[[nodiscard]] KernelAnswer kernel_answer(const KernelQuestion& question, const Context& context);

}  // namespace natten_sim::study

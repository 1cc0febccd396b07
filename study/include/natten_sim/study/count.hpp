#pragma once

#include <memory>
#include <optional>

#include <natten_sim/core/tile_count.hpp>
#include <natten_sim/core/tiling.hpp>
#include <natten_sim/models/tiles/axis_count_memo.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/counted_tiles.hpp>
#include <natten_sim/study/kernel.hpp>
#include <natten_sim/study/setting.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {

/// The Q tiling of a backward pass that says none: that of all kernels.
inline constexpr KvTiling kDefaultBackwardQTiling = KvTiling::kStatic;

/// Which tiles does this attention problem visit? Only the layout (or a preset) has no default.
struct CountQuestion {
  Setting setting;
  Extents window;                     ///< empty: the whole axis (dense attention)
  Extents stride;                     ///< empty: 1
  Extents dilation;                   ///< empty: 1
  PerAxis<bool> causal, cyclic;       ///< empty: no axis is; one value: of all axes
  /// Empty: NATTEN's default of the backend; for FlexAttention by itself, boxes that visit the fewest tiles.
  Extents q_tile, kv_tile;
  std::optional<KvTiling> kv_tiling;  ///< of the forward pass; none: the chosen backend's, or static
  Tiling tiling = Tiling::kMultiDimensional;
  bool backward = false;                      ///< count the backward pass too
  Extents backward_q_tile, backward_kv_tile;  ///< empty: NATTEN's default of the backend
  /// Where the streamed Q tiles lie; none: kDefaultBackwardQTiling.
  std::optional<KvTiling> backward_q_tiling;
  std::optional<std::string> kernel;  ///< whose time is asked for; none: what NATTEN runs on the device
  std::optional<KernelSchedule> kernel_schedule;  ///< none: that of TimeQuestion
  std::optional<double> rest_ms;                  ///< between launches, as in TimeQuestion
};

/// One change with which NATTEN would mask nothing: the member that is not empty.
struct FastPathChange {
  Extents kv_tile, q_tile;  ///< another shape that the backend has with the other tile
  Extents stride, window;   ///< differs on one axis
};

struct BackwardCount {
  TilingProblem problem;
  TileCount count;
  std::optional<Flops> flops;  ///< as in CountedTiles
  double approximate_mma_flops = 0;
  std::optional<TimeAnswer> time;  ///< as in CountAnswer
};

struct CountAnswer {
  /// With every default filled in; `setting.backend` is the backend that implements the tile pair, if one
  /// does, and the backward tiles are empty unless the backward pass was asked for.
  CountQuestion question;
  CountedTiles forward;
  std::optional<BackwardCount> backward;  ///< when asked for
  KernelAnswer kernel;                    ///< what NATTEN does, where `forward` says what the mask needs
  std::optional<TimeAnswer> time;         ///< of the forward pass; none: neither a device nor a kernel is named
  /// Of the whole model, by the ratio of times; none: no time, or no attention share.
  std::optional<double> end_to_end_by_time;
  /// Of the forward pass; none: NATTEN masks nothing as it is, or one change is not enough.
  std::optional<FastPathChange> fast_path_change;
  /// What users of NATTEN, which has no cyclic axes, run in their place: the layout padded by cycle_padding().
  /// None: no axis is cyclic.
  std::shared_ptr<const CountAnswer> padded;
  std::optional<Preset> preset;
  std::optional<std::string> chosen_backend;  ///< named by the question, or the device's
  bool tiles_defaulted = false;
  bool window_defaulted = false;
};

/// Exact counts; the cost is that of natten_sim::count() and kernel_answer(). Setting one of the backward
/// members asks for the backward pass. Calls `context.progress` for each pass.
/// @throws InvalidParameter, UnknownName, OverflowError
[[nodiscard]] CountAnswer count(const CountQuestion& question, const Context& context);

/// The same for whoever asks many questions, with one memo for all.
[[nodiscard]] CountAnswer count_with_memo(const CountQuestion& question, const Context& context,
                                          AxisCountMemo& memo);

}  // namespace natten_sim::study

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
  std::optional<KernelChoice> kernel;  ///< whose time is asked for; none: what NATTEN runs on the device
  std::optional<KernelSchedule> kernel_schedule;  ///< none: that of TimeQuestion
  std::optional<double> rest_ms;                  ///< between launches, as in TimeQuestion
  std::optional<MaskFunction> mask_function;      ///< as in TimeQuestion
  std::optional<double> mask_cost;                ///< as in TimeQuestion
};

/// One change with which NATTEN would mask nothing: the member that is not empty, or both tiles.
struct FastPathChange {
  Extents kv_tile, q_tile;  ///< of another pair that NATTEN accepts; empty: the tile stays
  Extents stride, window;   ///< differs on one axis
};

struct BackwardCount {
  TilingProblem problem;
  TileCount count;
  std::optional<Flops> flops;  ///< as in CountedTiles
  double approximate_mma_flops = 0;
  std::optional<TimeAnswer> time;  ///< as in CountAnswer
};

/// What callers copy themselves around a cyclic axis, outside the kernels' times: whole rows at the rate of NATTEN's copies
/// there, which are its bytes alike.
struct CycleCopies {
  double padding_ms = 0;  ///< tokens of the other end before and after Q, K and V, an axis at a time
  double blocks_ms = 0;   ///< Q, K and V into blocks and O back; 0: blocks are rows of tokens as they lie
  double interval = 0;    ///< half width, as a fraction
};

struct CountAnswer;

/// NATTEN on padded tokens, the padding counted.
struct PaddedTime {
  double total_ms = 0, low_ms = 0, high_ms = 0;
};
/// None: there are no cyclic axes, or no times.
[[nodiscard]] std::optional<PaddedTime> padded_time(const CountAnswer& answer);

struct CountAnswer {
  /// With every default filled in, so that it has the same answer; the backward tiles are empty unless the backward
  /// pass was asked for. A dense kernel of a library has one sequence, in its own tiles.
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
  std::optional<CycleCopies> cycle_copies;  ///< with cyclic axes on a device whose rate of copies is known
  std::optional<Preset> preset;
  std::optional<std::string> chosen_backend;  ///< named by the question, or the device's
  std::optional<std::string> implemented_by;  ///< the backend that has the tile pair; none: no one, or no backend's
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

template <typename Members>
void describe_backward(Members& members, const CountQuestion&) {
  using Q = CountQuestion;
  members.group("Backward pass");
  members.add("backprop", &Q::backward,
              {.help = "Count the backward pass too: Q tiles walked per KV tile",
               .echo = Echo::kNever,
               .batch = true});
  members.add("backward_q_tile", &Q::backward_q_tile,
              {.help = "Q tile shape of the backward pass [NATTEN's default of the backend]",
               .echo = Echo::kWhenSet});
  members.add("backward_kv_tile", &Q::backward_kv_tile,
              {.help = "KV tile shape of the backward pass [NATTEN's default of the backend]",
               .echo = Echo::kWhenSet});
  members.add("backward_q_tiling", &Q::backward_q_tiling,
              {.value = "KIND",
               .help = std::string("Q tiles of the backward pass on a fixed grid (static) or from each KV tile's "
                                   "first query (dynamic) [") +
                       to_string(kDefaultBackwardQTiling) + ", as in all of NATTEN's kernels]",
               .echo = Echo::kWhenSet});
}

template <typename Members>
void describe(Members& members, const CountQuestion& question) {
  using Q = CountQuestion;
  members.part(&Q::setting, [](auto& setting) { describe_layout(setting); });
  members.group("Problem");
  members.add("window", &Q::window,
              {.flags = "-w,--window,--window-size",
               .help = "Window, one size per axis [the whole axis: dense attention]"});
  members.add("stride", &Q::stride,
              {.flags = "-s,--stride",
               .help = "Stride, one per axis, at most the window " + axis_default(&AxisMask::stride)});
  describe_axes(members, question);
  members.group("Tiles");
  members.add("q_tile", &Q::q_tile,
              {.help = "Q tile shape in tokens, one size per axis [NATTEN's default of the backend]"});
  members.add("kv_tile", &Q::kv_tile,
              {.help = "KV tile shape in tokens, one size per axis [NATTEN's default of the backend]"});
  members.add("kv_tiling", &Q::kv_tiling,
              {.value = "KIND",
               .help = "KV tiles of the forward pass on a fixed grid (static) or from each Q tile's first key "
                       "(dynamic) " +
                       default_text("the chosen backend's", kDefaultKvTiling)});
  members.add("tiling", &Q::tiling,
              {.value = "KIND",
               .help = "Tiles as boxes of the layout (multi) or runs of the row-major sequence (single) "
                       "[default]"});
  members.part(&Q::setting, [](auto& setting) {
    describe_backend(setting, Echo::kAlways);
    describe_workload(setting);
  });
  members.group("Kernel and device");
  members.add("kernel", &Q::kernel,
              {.help = "Kernel whose time is predicted: hopper-fna, blackwell-fna, cutlass-fna, flexattention, "
                       "a dense one (fmha, cudnn, fa2, fa3, fa4), or a kernel file (FILE.json) [what NATTEN runs "
                       "on the device]",
               .echo = Echo::kWhenSet,
               .batch = true});
  describe_launch(members, question);
  describe_mask_function(members, question);
  describe_backward(members, question);
}

}  // namespace natten_sim::study

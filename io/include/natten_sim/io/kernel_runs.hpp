#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/kernel_costs.hpp>
#include <natten_sim/core/per_axis.hpp>

namespace natten_sim {

/// One measured launch of an attention kernel: a row of data/kernel-runs/*.csv.
struct KernelRun {
  std::string kernel;
  std::string device;
  Walk pass = Walk::kForward;
  Extents input, window;
  Extents stride, dilation;  ///< empty: 1
  PerAxis<bool> causal;      ///< empty: no axis is
  Extents q_tile, kv_tile;
  KernelSchedule schedule = KernelSchedule::kCooperative;
  std::int64_t batch = 1, heads = 1;
  std::int64_t heads_kv = 0;  ///< 0: as many as heads
  std::int64_t head_dim = 128;
  Dtype dtype = Dtype::kBf16;
  std::optional<double> ms;                                  ///< median; none: still to be filled in
  std::optional<double> min_ms, max_ms;                      ///< of the repetitions
  std::optional<double> perm_q_ms, perm_kv_ms, unperm_o_ms, unperm_lse_ms;  ///< copies of one tensor
  std::string natten;           ///< release of NATTEN that was run; empty: the newest
  bool pytorch_copies = false;  ///< made by PyTorch's operators instead of NATTEN's own kernel
  /// Between one launch and the next, in which the GPU rests or does lighter work; none: long.
  std::optional<double> rest_ms;
};

/// One line that names everything of a run but its kernel, device and times. Equal runs have equal keys.
/// "forward b1 h24 d128 bf16 256x256 window 80x80 stride 16x16 tiles 16x8/16x8".
[[nodiscard]] std::string key_of_run(const KernelRun& run);

/// CSV with a header. Columns: kernel, device, pass (forward, backward), input, window, stride, dilation,
/// causal, q_tile, kv_tile, schedule, batch, heads, heads_kv, head_dim, dtype, ms, min_ms, max_ms, perm_q_ms,
/// perm_kv_ms, unperm_o_ms, unperm_lse_ms, natten, copied_by (natten, pytorch), rest_ms; also layout for
/// input, median_ms for ms, sched for schedule, and op (fwd, bwd, fmha) for pass and kernel. Only input,
/// window, q_tile and kv_tile are required; an empty cell and a column that is absent take the value of
/// `defaults`; other columns are ignored. Sizes are written 30x48x80.
/// @throws MalformedData naming the line.
[[nodiscard]] std::vector<KernelRun> parse_kernel_runs(std::string_view csv, const std::string& where,
                                                       const KernelRun& defaults);

/// The runs of data/kernel-runs, which the costs that ship were fitted to.
[[nodiscard]] std::vector<KernelRun> builtin_kernel_runs();

/// Times of the attention kernels in the tables that NATTEN's profiler prints (operations FnaForward,
/// FnaBackward, FmhaForward, FmhaBackward), in milliseconds and in order; other text is skipped.
[[nodiscard]] std::vector<double> profiler_times_ms(std::string_view text);

}  // namespace natten_sim

#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/mask.hpp>
#include <natten_sim/kernels/attention_forward/problem.hpp>
#include <natten_sim/validate/cases/case.hpp>

namespace natten_sim::validate {

/// Neighborhood attention forward of this project's own kernel for sm_90a, without permutation: tensors are
/// (1, tokens, heads, head_dim), Q and KV tiles boxes of the layout, each Q tile an item. Tiles of four axes
/// have side 1 along the first.
struct GnaCase final : Case {
  std::int64_t heads = 1;
  std::int64_t heads_kv = 1;  ///< divides heads
  std::int64_t head_dim = 128;
  Dtype dtype = Dtype::kBf16;
  Extents input, window, stride, dilation;
  PerAxis<bool> causal;     ///< one an axis
  std::int64_t add_kv = 0;  ///< additional keys, which every query sees besides
  Extents q_tile, kv_tile;
  kernels::attention_forward::Dispatch dispatch = kernels::attention_forward::Dispatch::kTicket;

  [[nodiscard]] std::string key() const override;
  [[nodiscard]] std::string group() const override;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  /// kClosedForm: milliseconds, since tiles are counted one by one; times only where reads have a closed
  /// form, since they take their part.
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] Launch prepare(Bench& bench, std::uint64_t seed) const override;
  /// All of O and LSE.
  [[nodiscard]] CheckedPoint check(Bench& bench, std::uint64_t seed) const override;
  /// On axes of at most 20 tokens (4-D: 10, 2-D: 45, 1-D: 1000) that tiles do not divide, with at most 300
  /// additional keys.
  [[nodiscard]] std::vector<Point> to_check(CheckLengths lengths) const override;
  void require_built() const override;
  [[nodiscard]] std::optional<KernelRun> kernel_run() const override;
  /// Of pairs that attend.
  [[nodiscard]] std::optional<double> operations() const override;

  [[nodiscard]] NeighborhoodMask mask() const;
  /// The scale is 1 / sqrt(head_dim).
  [[nodiscard]] kernels::attention_forward::Problem problem() const;
};

/// What attention_forward::Neighborhood wants to know: visited pairs of tiles, in the order of Q tiles.
[[nodiscard]] std::vector<kernels::attention_forward::VisitedTile> visited_tiles(const NeighborhoodMask& mask,
                                                                                 const Extents& q_tile,
                                                                                 const Extents& kv_tile);

/// Sectors of Q, K and V that `visits` and additional keys load: whole boxes, a Q tile once. What of a box
/// lies outside of the tensor comes back as zeros, and the counter counts it like the rest (docs/kernels.md).
[[nodiscard]] std::int64_t loaded_sectors(const GnaCase& point,
                                          const std::vector<kernels::attention_forward::VisitedTile>& visits,
                                          std::int64_t sector_bytes);

/// DRAM bytes read where K and V of a head stay in the L2: everything once. Empty where Q, K, V and O of a
/// head do not fit it.
[[nodiscard]] std::optional<double> cold_reads(const GnaCase& point, const Device& device);
/// DRAM bytes read by CTAs in time, at the pace of the same tiles in sequences; empty for what the simulation
/// does not take (dilation, some axes causal and others not, additional keys) and where nobody has measured
/// the pace. Simulated once a process and point: up to a second.
[[nodiscard]] std::optional<double> timed_reads(const GnaCase& point, const Device& device);

}  // namespace natten_sim::validate

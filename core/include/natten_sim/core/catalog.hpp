#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/attention_kernel.hpp>
#include <natten_sim/core/backward_kernel.hpp>
#include <natten_sim/core/cta_schedule.hpp>
#include <natten_sim/core/device.hpp>
#include <natten_sim/core/kernel_costs.hpp>
#include <natten_sim/core/natten_rules.hpp>
#include <natten_sim/core/schedule_costs.hpp>
#include <natten_sim/core/split_q.hpp>
#include <natten_sim/core/tile_physics.hpp>
#include <natten_sim/core/tiling.hpp>

namespace natten_sim {

/// An attention backend of NATTEN and the tile shapes it implements.
struct Backend {
  std::string name;
  std::vector<std::string> architectures;
  std::vector<std::string> dtypes;  ///< empty: not restricted
  KvTiling kv_tiling = KvTiling::kStatic;
  std::vector<BackendTiles> forward;
  std::vector<BackendTiles> backward;
  std::vector<NattenDefaultTiles> default_tiles;  ///< by rank, 1-D first; empty: the first pair that fits
  std::string source;
};

/// Distinct tile pairs of a backend for layouts of `rank` axes, in its own order.
/// @throws InvalidParameter when it implements none for this rank or head dim, naming those it does.
[[nodiscard]] std::vector<TilePair> tile_pairs(const Backend& backend, std::size_t rank,
                                               std::int64_t head_dim, Walk pass);

/// A window that a publication used, with its tile pair and strides where it gives them.
struct PublishedWindow {
  Extents window;
  Extents dilation;  ///< empty: 1
  std::optional<TilePair> tiles;
  std::vector<Extents> strides;
  std::string source;
};

/// A model's attention: layout and multipliers, each from a cited source.
struct Preset {
  std::string name;
  std::string description;
  Extents layout;
  std::int64_t heads = 1;
  std::int64_t head_dim = 64;
  std::optional<double> attention_share;    ///< of the end-to-end time, 0..1
  std::optional<std::int64_t> steps;        ///< diffusion steps
  std::optional<std::int64_t> dense_steps;  ///< steps that stay dense by default
  std::vector<PublishedWindow> windows;
  std::string source;
};

/// Everything known by name. A value: copy it, extend it, no globals.
struct Catalog {
  std::vector<Backend> backends;
  std::vector<NattenRules> natten;  ///< releases of NATTEN, the newest first; none: answers say nothing of it
  std::vector<Preset> presets;
  std::vector<Device> devices;
  std::vector<AttentionKernel> kernels;
  std::vector<KernelCosts> kernel_costs;  ///< calibrated times, those of a user's file first
  CostPriors cost_priors;
  TilePhysics physics;  ///< what times follow from where nobody measured any; without kernels: only measured times
  std::vector<ScheduleCostSet> schedule_costs;  ///< of backward kernels, those of a user's file first
  std::vector<BackwardKernel> backward_kernels;  ///< by position; of one name the newest release first

  /// @throws UnknownName with the closest known name as a hint.
  [[nodiscard]] const Backend& backend(std::string_view name) const;
  /// The release of this version, or the newest. @throws UnknownName, also where there is no release.
  [[nodiscard]] const NattenRules& natten_release(const std::optional<std::string>& version) const;
  [[nodiscard]] const Preset& preset(std::string_view name) const;
  [[nodiscard]] const Device& device(std::string_view name) const;
  [[nodiscard]] const AttentionKernel& kernel(std::string_view name) const;
  /// The first that fits; null when nobody has calibrated it.
  [[nodiscard]] const KernelCosts* costs_of(std::string_view kernel, std::string_view device,
                                            std::int64_t head_dim, Dtype dtype) const;
  /// By its name. @throws UnknownName.
  [[nodiscard]] const ScheduleCostSet& schedule_cost_set(std::string_view name) const;
  /// The kernel that runs on the device: by its name, or `name@release`. @throws UnknownName for a name or
  /// release that there is not; InvalidParameter for a kernel of other architectures.
  [[nodiscard]] const BackwardKernel& backward_kernel(std::string_view name, const Device& device) const;
  [[nodiscard]] std::vector<std::string> backward_kernel_names() const;
  /// The first that fits; null when nobody has measured it.
  [[nodiscard]] const ScheduleCostSet* schedule_costs_of(std::string_view kernel, std::string_view device,
                                                         std::int64_t head_dim, Dtype dtype) const;
};

}  // namespace natten_sim

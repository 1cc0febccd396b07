#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <natten_sim/core/kernel_costs.hpp>

namespace natten_sim {

/// Which attention kernels exist on which architectures, and what a pair of their tiles computes: from these and
/// a device's rates follow times where nobody measured any (models/tiles/tile_time.hpp). Shipped in
/// data/tile-physics.json.

/// How a kernel issues its products: synchronously by warp, asynchronously by warpgroup (Hopper), or into
/// tensor memory (data center Blackwell).
enum class TensorIssue { kMmaSync, kWgmma, kTcgen05 };

template <>
struct NamesOf<TensorIssue> {
  static constexpr const char* kConcept = "tensor-issue";
  static constexpr Name<TensorIssue> kTable[] = {{TensorIssue::kMmaSync, "mma.sync"},
                                                 {TensorIssue::kWgmma, "wgmma"},
                                                 {TensorIssue::kTcgen05, "tcgen05"}};
};

/// A kernel's tiles at head dims up to `head_dim`.
struct PhysicalTiles {
  std::int64_t head_dim = 0;
  std::int64_t computed_head_dim = 0;  ///< what smaller ones are padded to; 0: the next multiple of 16
  std::int64_t q_tile_tokens = 0, kv_tile_tokens = 0;
  std::int64_t ctas_per_sm = 1;
  double uneven = 1;  ///< time of a pair of a head dim that is padded, over that of one that is not
  std::string variant;  ///< not empty: another kernel than at other head dims, with constants of its own
};

/// One pass of a kernel.
struct PhysicalPass {
  Walk pass = Walk::kForward;
  double products = 2;      ///< matrix products of a pair of tiles
  double exponentials = 1;  ///< of each pair of tokens
  std::int64_t warps_per_sm = 0;  ///< at once, one for 32 x 32 of a pair: decides the CTAs of tiles; 0: these state them
  std::vector<PhysicalTiles> tiles;  ///< by ascending head dim
  std::vector<Dtype> dtypes;

  /// Null: the head dim is too large.
  [[nodiscard]] const PhysicalTiles* tiles_of(std::int64_t head_dim) const noexcept {
    for (const PhysicalTiles& each : tiles) {
      if (head_dim <= each.head_dim) return &each;
    }
    return nullptr;
  }
};

/// A kernel on architectures that it runs on alike.
struct KernelPhysics {
  std::string kernel;
  std::vector<std::string> architectures;
  TensorIssue issue = TensorIssue::kMmaSync;
  std::vector<std::int64_t> head_dims;  ///< that it has; empty: multiples of 8
  std::vector<PhysicalPass> passes;
  std::string source;

  [[nodiscard]] const PhysicalPass* pass_of(Walk pass) const noexcept {
    for (const PhysicalPass& each : passes) {
      if (each.pass == pass) return &each;
    }
    return nullptr;
  }
  [[nodiscard]] bool runs_on(const std::string& architecture) const {
    return std::find(architectures.begin(), architectures.end(), architecture) != architectures.end();
  }
};

/// From where times of a cell come that nobody measured there: the closest cells that somebody did measure.
/// Nearer ones come first.
enum class TransferKind {
  kSameProgram,  ///< on the device, at another head dim that is padded to the same one
  kOtherTiles,
  kOtherDevice,
  kOtherHeadDim,
  kSiblingKernel,
  kOtherArchitecture,
  kOtherArchitectureAndHeadDim,
  kPhysical
};

template <>
struct NamesOf<TransferKind> {
  static constexpr const char* kConcept = "transfer";
  static constexpr Name<TransferKind> kTable[] = {{TransferKind::kSameProgram, "same-program"},
                                                  {TransferKind::kOtherTiles, "other-tiles"},
                                                  {TransferKind::kOtherDevice, "other-device"},
                                                  {TransferKind::kOtherHeadDim, "other-head-dim"},
                                                  {TransferKind::kSiblingKernel, "sibling-kernel"},
                                                  {TransferKind::kOtherArchitecture, "other-architecture"},
                                                  {TransferKind::kOtherArchitectureAndHeadDim,
                                                   "other-architecture-and-head-dim"},
                                                  {TransferKind::kPhysical, "physical"}};
};

/// How far off transfers of one kind were on cells that were left out.
struct TransferError {
  TransferKind kind = TransferKind::kPhysical;
  std::int64_t points = 0;
  double mean = 0, worst = 0;  ///< ratio of measured and predicted, larger over smaller, less 1
  double interval = 0;         ///< of nine in ten times t: t / (1 + interval) to t (1 + interval)
  double inside = 0;           ///< share of the points within the interval that the other points give

  friend bool operator==(const TransferError&, const TransferError&) = default;
};

/// What a tensor operation and an element of a pair take over the device's full rates, of one issue and pass.
struct TileConstants {
  TensorIssue issue = TensorIssue::kMmaSync;
  Walk pass = Walk::kForward;
  double tensor = 1, element = 1;
};

/// How a kernel differs from others of its issue: its time over theirs.
struct KernelFactor {
  std::string kernel;  ///< with its variant, as `hopper-fna small`
  TensorIssue issue = TensorIssue::kMmaSync;
  Walk pass = Walk::kForward;
  double factor = 1;
};

struct TilePhysics {
  std::vector<KernelPhysics> kernels;  ///< empty: only measured times are used
  std::vector<CostPrior> priors;       ///< `tensor`, `element` and `kernel`
  std::vector<TileConstants> constants;
  std::vector<KernelFactor> factors;
  std::vector<TransferError> transfers;

  /// Null: the kernel does not exist there.
  [[nodiscard]] const KernelPhysics* kernel_on(const std::string& kernel, const std::string& architecture) const {
    for (const KernelPhysics& each : kernels) {
      if (each.kernel == kernel && each.runs_on(architecture)) return &each;
    }
    return nullptr;
  }
  [[nodiscard]] const TransferError* error_of(TransferKind kind) const noexcept {
    for (const TransferError& each : transfers) {
      if (each.kind == kind) return &each;
    }
    return nullptr;
  }
};

}  // namespace natten_sim

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/msda_config.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/kernels/scatter_add/scatter_add.hpp>

namespace natten_sim::kernels::msda {

/// Multi-scale deformable attention. A query samples `points` locations of every level with every head; a
/// location reads the rows of head_channels elements of the four pixels around it, weighted bilinearly:
///
///     output[b, q, h] = sum over levels l, points k of weight[b, q, h, l, k] * value(location[b, q, h, l,
///     k])
///
/// Pixels are hit at integer coordinates plus one half; corners outside of a level count as zero. Backward:
/// gradients of values (added atomically, by one of the paths of scatter_add), locations and weights.
///
/// A lane holds 16 bytes of a row. Block tiling: the lanes of a (query, head) walk all its samples, queries
/// in dispatch order, heads fastest. Point tiling: lanes of one sample each; the forward pass then adds into
/// fp32 sums. Floor: values, locations, weights and output once through DRAM.

inline constexpr std::int64_t kMostLevels = 8;

struct Problem {
  std::int64_t batch = 1, queries = 1, heads = 8, head_channels = 32, points = 4;
  std::vector<MsdaLevel> levels;
  Dtype dtype = Dtype::kBf16;       ///< of values and output: fp32, bf16 or fp16
  Dtype parameters = Dtype::kFp32;  ///< of locations and weights: fp32 or `dtype`
  MsdaTiling tiling = MsdaTiling::kBlock;
  /// How gradients of values are added: scalar, red-4, red-16, atom, cas, private, fp32-accumulator.
  scatter_add::Path path = scatter_add::Path::kRed16;
  std::int64_t copies = 8;  ///< of Path::kPrivate

  [[nodiscard]] std::int64_t pixels() const;   ///< of an image
  [[nodiscard]] std::int64_t samples() const;  ///< of all images
};

/// The sizes of a configuration; types, tiling and path are the defaults.
[[nodiscard]] Problem problem_of(const MsdaConfig& config);

/// @throws InvalidParameter on sizes, types or paths that no kernel takes.
void require_valid(const Problem& problem);

/// Bytes of each tensor.
struct TensorBytes {
  std::size_t values = 0;     ///< (batch, pixels, heads, head_channels), like its gradient
  std::size_t locations = 0;  ///< (batch, queries, heads, levels, points, 2): x, y as fractions of the image
  std::size_t weights = 0;    ///< (batch, queries, heads, levels, points)
  std::size_t output = 0;     ///< (batch, queries, heads, head_channels), like its gradient
  std::size_t order = 0;      ///< (batch, queries) int32: the query that is dispatched at a position
};
[[nodiscard]] TensorBytes tensor_bytes(const Problem& problem);

/// Bytes of memory besides the tensors that a pass needs.
[[nodiscard]] std::size_t scratch_bytes(const Problem& problem, MsdaPhase phase);

/// Memory of the GPU, 16-byte aligned. A null `order` dispatches queries as they are stored.
struct Tensors {
  const void *values = nullptr, *locations = nullptr, *weights = nullptr;
  const std::int32_t* order = nullptr;
  void* output = nullptr;                 ///< forward
  const void* output_gradient = nullptr;  ///< backward, and the three below
  void *value_gradient = nullptr, *location_gradient = nullptr, *weight_gradient = nullptr;
  void* scratch = nullptr;
};

/// One pass. Outputs are overwritten, whatever they held. Asynchronous.
/// @throws InvalidParameter for null tensors that the pass needs, HardwareAbsent for a path that this GPU
/// lacks.
void launch(const GpuInfo& gpu, const Problem& problem, MsdaPhase phase, const Tensors& tensors);

/// Fills `count` elements of `to` with the fp32 numbers at `from`, rounded. Asynchronous.
void narrow(Dtype dtype, const DeviceBuffer& from, DeviceBuffer& to, std::int64_t count);

}  // namespace natten_sim::kernels::msda

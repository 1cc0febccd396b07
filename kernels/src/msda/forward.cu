// Multi-scale deformable attention, forward.
//
// Variants: tiling (block, point), dtype, types of locations and weights. Loads of 16 bytes a lane, of the
// four corners of two samples before their first use. Floor: values, locations, weights and output once
// through DRAM.
#include <algorithm>
#include <type_traits>

#include "gpu/cuda_check.cuh"
#include "gpu/launch_stream.cuh"
#include "msda/row_updates.cuh"
#include "msda/samples.cuh"

namespace natten_sim::kernels::msda {
namespace {

constexpr int kSamplesAtOnce = 2;

template <typename Element>
__global__ void __launch_bounds__(kThreads)
    forward_block(Shape shape, const Element* __restrict__ values, const void* __restrict__ locations,
                  const void* __restrict__ weights, const std::int32_t* __restrict__ order,
                  Element* __restrict__ output) {
  constexpr int kElements = Piece<Element>::kElements;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const auto position = static_cast<unsigned>(thread >> shape.lane_shift);
  if (position >= shape.pairs) return;
  const int lane = static_cast<int>(thread & ((1 << shape.lane_shift) - 1));
  const Pair pair = pair_at(shape, position, order);
  const int pixel_elements = shape.heads * shape.head_channels;
  const Element* const mine = values + pair.image * shape.pixels * pixel_elements +
                              pair.head * shape.head_channels + lane * kElements;
  std::int64_t sample = pair.stored * (shape.levels * shape.points);
  float sum[kElements] = {};
  for (int level = 0; level < shape.levels; ++level) {
    const int height = shape.height[level], width = shape.width[level], first = shape.first[level];
    for (int point = 0; point < shape.points; point += kSamplesAtOnce, sample += kSamplesAtOnce) {
      Corners corners[kSamplesAtOnce];
      float weight[kSamplesAtOnce];
      uint4 pieces[kSamplesAtOnce][4];
#pragma unroll
      for (int i = 0; i < kSamplesAtOnce; ++i) {
        const bool there = point + i < shape.points;
        const std::int64_t at = sample + (there ? i : 0);
        corners[i] =
            corners_of(location_at<Element>(locations, shape.narrow_parameters, at), height, width, first);
        weight[i] = there ? parameter_at<Element>(weights, shape.narrow_parameters, at) : 0;
      }
#pragma unroll
      for (int i = 0; i < kSamplesAtOnce; ++i)
        load_corners(mine, corners[i], width, pixel_elements, pieces[i]);
#pragma unroll
      for (int i = 0; i < kSamplesAtOnce; ++i) {
#pragma unroll
        for (int corner = 0; corner < 4; ++corner) {
          float value[kElements];
          Piece<Element>::widen(pieces[i][corner], value);
          const float share = weight[i] * corners[i].weight(corner);
#pragma unroll
          for (int k = 0; k < kElements; ++k) sum[k] = fmaf(share, value[k], sum[k]);
        }
      }
    }
    sample -= (shape.points + kSamplesAtOnce - 1) / kSamplesAtOnce * kSamplesAtOnce - shape.points;
  }
  alignas(16) Element held[kElements];
  Piece<Element>::narrow(sum, held);
  *reinterpret_cast<uint4*>(output + pair.stored * shape.head_channels + lane * kElements) =
      *reinterpret_cast<const uint4*>(held);
}

/// One sample by its lanes, added into fp32 sums of the shape of the output.
template <typename Element>
__global__ void __launch_bounds__(kThreads)
    forward_point(Shape shape, const Element* __restrict__ values, const void* __restrict__ locations,
                  const void* __restrict__ weights, const std::int32_t* __restrict__ order, float* sums) {
  constexpr int kElements = Piece<Element>::kElements;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int of_pair = shape.levels * shape.points;
  const auto wanted = static_cast<unsigned>(thread >> shape.lane_shift);
  const bool active = wanted < shape.pairs * of_pair;  // the others stay for what lanes hand around
  const unsigned item = active ? wanted : 0, position = item / static_cast<unsigned>(of_pair);
  const int place = static_cast<int>(item - position * static_cast<unsigned>(of_pair));
  const int lane = static_cast<int>(thread & ((1 << shape.lane_shift) - 1));
  const Pair pair = pair_at(shape, position, order);
  const int level = place / shape.points, width = shape.width[level];
  const int pixel_elements = shape.heads * shape.head_channels;
  const std::int64_t sample = pair.stored * of_pair + place;
  const Corners corners = corners_of(location_at<Element>(locations, shape.narrow_parameters, sample),
                                     shape.height[level], width, shape.first[level]);
  const float weight = parameter_at<Element>(weights, shape.narrow_parameters, sample);
  uint4 pieces[4];
  load_corners(values + pair.image * shape.pixels * pixel_elements + pair.head * shape.head_channels +
                   lane * kElements,
               corners, width, pixel_elements, pieces);
  alignas(16) float sum[kElements] = {};
#pragma unroll
  for (int corner = 0; corner < 4; ++corner) {
    float value[kElements];
    Piece<Element>::widen(pieces[corner], value);
    const float share = weight * corners.weight(corner);
#pragma unroll
    for (int k = 0; k < kElements; ++k) sum[k] = fmaf(share, value[k], sum[k]);
  }
  add_to_row<WideUpdate>(sums + pair.stored * shape.head_channels, sum, lane, 1 << shape.lane_shift,
                         active && corners.inside != 0);
}

}  // namespace

template <typename Element>
void launch_forward(const Problem& problem, const Tensors& tensors) {
  const Shape shape = shape_of(problem);
  const auto* const values = static_cast<const Element*>(tensors.values);
  auto* const output = static_cast<Element*>(tensors.output);
  if (problem.tiling == MsdaTiling::kBlock) {
    forward_block<<<blocks_of(shape, shape.pairs), kThreads, 0, launch_stream()>>>(
        shape, values, tensors.locations, tensors.weights, tensors.order, output);
    return;
  }
  const std::int64_t elements = shape.pairs * shape.head_channels;
  float* sums = static_cast<float*>(tensors.scratch);
  if constexpr (std::is_same_v<Element, float>) sums = output;
  NATTEN_SIM_CUDA_CHECK(
      cudaMemsetAsync(sums, 0, static_cast<std::size_t>(elements) * sizeof(float), launch_stream()));
  forward_point<<<blocks_of(shape, problem.samples()), kThreads, 0, launch_stream()>>>(
      shape, values, tensors.locations, tensors.weights, tensors.order, sums);
  if constexpr (!std::is_same_v<Element, float>) launch_sum_copies(output, sums, elements, 1);
}

template void launch_forward<float>(const Problem&, const Tensors&);
template void launch_forward<__half>(const Problem&, const Tensors&);
template void launch_forward<__nv_bfloat16>(const Problem&, const Tensors&);

}  // namespace natten_sim::kernels::msda

// Multi-scale deformable attention, backward.
//
// Variants: tiling (block, point), dtype, types of locations and weights, path of the value's gradient
// (scatter_add's). The walk is that of the forward pass. Each corner inside its level is one update of a row;
// gradients of locations and weights are sums over the lanes of a row, by shuffles, without atomics. Floor:
// forward's, and all gradients.
#include <type_traits>

#include "gpu/cuda_check.cuh"
#include "gpu/launch_stream.cuh"
#include "msda/row_updates.cuh"
#include "msda/samples.cuh"

namespace natten_sim::kernels::msda {
namespace {

using scatter_add::Path;

/// Gradients of one sample's location and weight.
struct SampleGradient {
  float x = 0, y = 0, weight = 0;
};

/// The lanes' part of a sample's gradients, and its updates of the value's gradient. `target` is where the
/// row of an image's first pixel begins.
template <typename Element, typename Update>
__device__ __forceinline__ SampleGradient add_sample(typename Update::Type* target, const Corners& corners,
                                                     float weight, int height, int width, int pixel_elements,
                                                     int lane, int lanes, const uint4 (&pieces)[4],
                                                     const float (&above)[Piece<Element>::kElements]) {
  constexpr int kElements = Piece<Element>::kElements;
  using Sum = typename Update::Type;
  float dot[4];
#pragma unroll
  for (int corner = 0; corner < 4; ++corner) {
    float value[kElements];
    Piece<Element>::widen(pieces[corner], value);
    dot[corner] = 0;
#pragma unroll
    for (int k = 0; k < kElements; ++k) dot[corner] = fmaf(above[k], value[k], dot[corner]);
    const float share = weight * corners.weight(corner);
    alignas(16) Sum update[kElements];
#pragma unroll
    for (int k = 0; k < kElements; ++k) update[k] = static_cast<Sum>(share * above[k]);
    const int pixel = corners.pixel + corner % 2 + (corner / 2 != 0 ? width : 0);
    add_to_row<Update>(target + static_cast<std::int64_t>(pixel) * pixel_elements, update, lane, lanes,
                       (corners.inside >> corner & 1u) != 0);
  }
  SampleGradient gradient;
  const float upper = dot[1] - dot[0], lower = dot[3] - dot[2];
  const float left = dot[2] - dot[0], right = dot[3] - dot[1];
  gradient.x = weight * static_cast<float>(width) * (upper + corners.lower * (lower - upper));
  gradient.y = weight * static_cast<float>(height) * (left + corners.right * (right - left));
#pragma unroll
  for (int corner = 0; corner < 4; ++corner)
    gradient.weight = fmaf(corners.weight(corner), dot[corner], gradient.weight);
  return gradient;
}

__device__ __forceinline__ float lanes_sum(float value, int lanes) {
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

template <typename Element>
struct BackwardArrays {
  const Element* __restrict__ values;
  const void* __restrict__ locations;
  const void* __restrict__ weights;
  const std::int32_t* __restrict__ order;
  const Element* __restrict__ above;
  void* location_gradient;
  void* weight_gradient;
};

template <typename Element>
__device__ __forceinline__ void store_sample(const Shape& shape, const BackwardArrays<Element>& arrays,
                                             std::int64_t sample, const SampleGradient& gradient) {
  store_parameter<Element>(arrays.location_gradient, shape.narrow_parameters, 2 * sample, gradient.x);
  store_parameter<Element>(arrays.location_gradient, shape.narrow_parameters, 2 * sample + 1, gradient.y);
  store_parameter<Element>(arrays.weight_gradient, shape.narrow_parameters, sample, gradient.weight);
}

/// A (query, head) by its lanes. Every lane of a warp goes on to the end, for the shuffles; those past the
/// last pair repeat the first without adding.
template <typename Element, typename Update>
__global__ void __launch_bounds__(kThreads)
    backward_block(Shape shape, BackwardArrays<Element> arrays, typename Update::Type* gradients,
                   std::int64_t copies, std::int64_t copy_elements) {
  constexpr int kElements = Piece<Element>::kElements;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int lanes = 1 << shape.lane_shift, lane = static_cast<int>(thread & (lanes - 1));
  const auto wanted = static_cast<unsigned>(thread >> shape.lane_shift);
  const bool active = wanted < shape.pairs;
  const Pair pair = pair_at(shape, active ? wanted : 0, arrays.order);
  const int pixel_elements = shape.heads * shape.head_channels;
  const std::int64_t begin = pair.image * shape.pixels * pixel_elements + pair.head * shape.head_channels;
  typename Update::Type* const target = gradients + blockIdx.x % copies * copy_elements + begin;
  float above[kElements];
  Piece<Element>::widen(
      *reinterpret_cast<const uint4*>(arrays.above + pair.stored * shape.head_channels + lane * kElements),
      above);
  const int of_pair = shape.levels * shape.points;
  const std::int64_t first_sample = pair.stored * of_pair;
  SampleGradient kept;
  int place = 0;
  for (int level = 0; level < shape.levels; ++level) {
    const int height = shape.height[level], width = shape.width[level];
    for (int point = 0; point < shape.points; ++point, ++place) {
      const std::int64_t sample = first_sample + place;
      Corners corners = corners_of(location_at<Element>(arrays.locations, shape.narrow_parameters, sample),
                                   height, width, shape.first[level]);
      if (!active) corners.inside = 0;
      const float weight = parameter_at<Element>(arrays.weights, shape.narrow_parameters, sample);
      uint4 pieces[4];
      load_corners(arrays.values + begin + lane * kElements, corners, width, pixel_elements, pieces);
      SampleGradient gradient = add_sample<Element, Update>(target, corners, weight, height, width,
                                                            pixel_elements, lane, lanes, pieces, above);
      gradient.x = lanes_sum(gradient.x, lanes);
      gradient.y = lanes_sum(gradient.y, lanes);
      gradient.weight = lanes_sum(gradient.weight, lanes);
      // Lane i keeps the i-th of `lanes` samples, so that stores lie side by side.
      if (lane == (place & (lanes - 1))) kept = gradient;
      const bool last = place == of_pair - 1;
      if ((last || (place & (lanes - 1)) == lanes - 1) && active && lane <= (place & (lanes - 1)))
        store_sample(shape, arrays, first_sample + (place & ~(lanes - 1)) + lane, kept);
    }
  }
}

/// One sample by its lanes.
template <typename Element, typename Update>
__global__ void __launch_bounds__(kThreads)
    backward_point(Shape shape, BackwardArrays<Element> arrays, typename Update::Type* gradients,
                   std::int64_t copies, std::int64_t copy_elements) {
  constexpr int kElements = Piece<Element>::kElements;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int lanes = 1 << shape.lane_shift, lane = static_cast<int>(thread & (lanes - 1));
  const int of_pair = shape.levels * shape.points;
  const auto wanted = static_cast<unsigned>(thread >> shape.lane_shift);
  const bool active = wanted < shape.pairs * of_pair;
  const unsigned item = active ? wanted : 0;
  const Pair pair = pair_at(shape, item / static_cast<unsigned>(of_pair), arrays.order);
  const int place = static_cast<int>(item % static_cast<unsigned>(of_pair)), level = place / shape.points;
  const int pixel_elements = shape.heads * shape.head_channels, width = shape.width[level];
  const std::int64_t begin = pair.image * shape.pixels * pixel_elements + pair.head * shape.head_channels;
  const std::int64_t sample = pair.stored * of_pair + place;
  float above[kElements];
  Piece<Element>::widen(
      *reinterpret_cast<const uint4*>(arrays.above + pair.stored * shape.head_channels + lane * kElements),
      above);
  Corners corners = corners_of(location_at<Element>(arrays.locations, shape.narrow_parameters, sample),
                               shape.height[level], width, shape.first[level]);
  if (!active) corners.inside = 0;
  uint4 pieces[4];
  load_corners(arrays.values + begin + lane * kElements, corners, width, pixel_elements, pieces);
  SampleGradient gradient =
      add_sample<Element, Update>(gradients + blockIdx.x % copies * copy_elements + begin, corners,
                                  parameter_at<Element>(arrays.weights, shape.narrow_parameters, sample),
                                  shape.height[level], width, pixel_elements, lane, lanes, pieces, above);
  gradient.x = lanes_sum(gradient.x, lanes);
  gradient.y = lanes_sum(gradient.y, lanes);
  gradient.weight = lanes_sum(gradient.weight, lanes);
  if (active && lane == 0) store_sample(shape, arrays, sample, gradient);
}

/// Zeroes the `copies` gradients at `gradients`, then adds all updates to them.
template <typename Element, typename Update>
void launch_path(const Problem& problem, const Tensors& tensors, void* gradients, std::int64_t copies = 1) {
  const Shape shape = shape_of(problem);
  const BackwardArrays<Element> arrays = {static_cast<const Element*>(tensors.values),
                                          tensors.locations,
                                          tensors.weights,
                                          tensors.order,
                                          static_cast<const Element*>(tensors.output_gradient),
                                          tensors.location_gradient,
                                          tensors.weight_gradient};
  using Sum = typename Update::Type;
  const std::int64_t elements = problem.batch * shape.pixels * shape.heads * shape.head_channels;
  NATTEN_SIM_CUDA_CHECK(
      cudaMemsetAsync(gradients, 0, static_cast<std::size_t>(elements * copies) * sizeof(Sum), launch_stream()));
  if (problem.tiling == MsdaTiling::kBlock) {
    backward_block<Element, Update><<<blocks_of(shape, shape.pairs), kThreads, 0, launch_stream()>>>(
        shape, arrays, static_cast<Sum*>(gradients), copies, elements);
  } else {
    backward_point<Element, Update><<<blocks_of(shape, problem.samples()), kThreads, 0, launch_stream()>>>(
        shape, arrays, static_cast<Sum*>(gradients), copies, elements);
  }
}

}  // namespace

template <typename Element>
void launch_backward(const Problem& problem, const Tensors& tensors) {
  auto* const gradient = static_cast<Element*>(tensors.value_gradient);
  const std::int64_t elements = problem.batch * problem.pixels() * problem.heads * problem.head_channels;
  switch (problem.path) {
    case Path::kScalar:
      return launch_path<Element, scatter_add::ScalarUpdate<Element>>(problem, tensors, gradient);
    case Path::kRed4:
      return launch_path<Element, scatter_add::RedUpdate<Element, 1>>(problem, tensors, gradient);
    case Path::kRed16:
      return launch_path<Element, scatter_add::RedUpdate<Element, 4>>(problem, tensors, gradient);
    case Path::kAtom:
      return launch_path<Element, scatter_add::AtomUpdate<Element>>(problem, tensors, gradient);
    case Path::kCas:
      return launch_path<Element, scatter_add::CasUpdate<Element>>(problem, tensors, gradient);
    case Path::kPrivate:
      launch_path<Element, scatter_add::ScalarUpdate<Element>>(problem, tensors, tensors.scratch,
                                                               problem.copies);
      return launch_sum_copies(gradient, static_cast<const Element*>(tensors.scratch), elements,
                               problem.copies);
    case Path::kAccumulator:
      launch_path<Element, WideUpdate>(problem, tensors, tensors.scratch);
      return launch_sum_copies(gradient, static_cast<const float*>(tensors.scratch), elements, 1);
    case Path::kBulk:
    case Path::kRed8:
    case Path::kSorted:
      break;  // refused by require_valid
  }
}

template void launch_backward<float>(const Problem&, const Tensors&);
template void launch_backward<__half>(const Problem&, const Tensors&);
template void launch_backward<__nv_bfloat16>(const Problem&, const Tensors&);

}  // namespace natten_sim::kernels::msda

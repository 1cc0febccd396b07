#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <natten_sim/kernels/msda/msda.hpp>

/// What both passes share: sizes as a kernel takes them, where a sample lies, 16 bytes of a row as fp32.
namespace natten_sim::kernels::msda {

constexpr int kThreads = 256;

struct Shape {
  std::int64_t pairs;  ///< (image, query, head)
  std::int64_t pixels;
  int queries, heads, head_channels, levels, points;
  int lane_shift;  ///< log2 of the lanes of a row
  bool narrow_parameters;
  int height[kMostLevels], width[kMostLevels], first[kMostLevels];
};

[[nodiscard]] Shape shape_of(const Problem& problem);

/// Number of CTAs for that many (query, head) pairs or samples, each by its lanes.
[[nodiscard]] unsigned blocks_of(const Shape& shape, std::int64_t items);

/// destination = the sum of `count` copies in their order, rounded once.
template <typename Element, typename Copy>
void launch_sum_copies(Element* destination, const Copy* copies, std::int64_t elements, std::int64_t count);

template <typename Element>
void launch_forward(const Problem& problem, const Tensors& tensors);
template <typename Element>
void launch_backward(const Problem& problem, const Tensors& tensors);

#ifdef __CUDACC__

/// A (query, head) in dispatch order, and where its tensors begin. Numbers of pairs and samples fit 31 bits.
struct Pair {
  std::int64_t image, stored;  ///< stored: (image * queries + query) * heads + head
  int head;
};

__device__ __forceinline__ Pair pair_at(const Shape& shape, unsigned position,
                                        const std::int32_t* __restrict__ order) {
  const unsigned heads = static_cast<unsigned>(shape.heads), queries = static_cast<unsigned>(shape.queries);
  const unsigned dispatched = position / heads;  // image * queries + place in the order
  const unsigned image = dispatched / queries, head = position - dispatched * heads;
  const unsigned query =
      order == nullptr ? dispatched : image * queries + static_cast<unsigned>(order[dispatched]);
  return {image, static_cast<std::int64_t>(query) * shape.heads + head, static_cast<int>(head)};
}

template <typename Element>
__device__ __forceinline__ float parameter_at(const void* parameters, bool narrow, std::int64_t at) {
  if constexpr (sizeof(Element) == 4) return static_cast<const float*>(parameters)[at];
  return narrow ? static_cast<float>(static_cast<const Element*>(parameters)[at])
                : static_cast<const float*>(parameters)[at];
}

template <typename Element>
__device__ __forceinline__ float2 location_at(const void* locations, bool narrow, std::int64_t sample) {
  if constexpr (sizeof(Element) == 4) return static_cast<const float2*>(locations)[sample];
  if (!narrow) return static_cast<const float2*>(locations)[sample];
  return {parameter_at<Element>(locations, true, 2 * sample),
          parameter_at<Element>(locations, true, 2 * sample + 1)};
}

template <typename Element>
__device__ __forceinline__ void store_parameter(void* parameters, bool narrow, std::int64_t at, float value) {
  if (narrow && sizeof(Element) != 4) {
    static_cast<Element*>(parameters)[at] = static_cast<Element>(value);
  } else {
    static_cast<float*>(parameters)[at] = value;
  }
}

/// The four pixels around a location: upper left, upper right, lower left, lower right.
struct Corners {
  int pixel;           ///< of the upper left one, in its image; may lie outside
  unsigned inside;     ///< a bit a corner
  float right, lower;  ///< shares
  __device__ __forceinline__ float weight(int corner) const {
    return (corner % 2 != 0 ? right : 1 - right) * (corner / 2 != 0 ? lower : 1 - lower);
  }
};

__device__ __forceinline__ Corners corners_of(float2 location, int height, int width, int first) {
  const float x = fmaf(location.x, static_cast<float>(width), -.5f);
  const float y = fmaf(location.y, static_cast<float>(height), -.5f);
  Corners corners{0, 0, 0, 0};
  // A NaN is nowhere.
  if (!(x > -1 && y > -1 && x < static_cast<float>(width) && y < static_cast<float>(height))) return corners;
  const float left = floorf(x), top = floorf(y);
  const int column = static_cast<int>(left), row = static_cast<int>(top);
  corners.right = x - left;
  corners.lower = y - top;
  corners.pixel = first + row * width + column;
  const unsigned columns = (column >= 0 ? 1u : 0u) | (column + 1 < width ? 2u : 0u);
  corners.inside = (row >= 0 ? columns : 0u) | (row + 1 < height ? columns << 2 : 0u);
  return corners;
}

/// 16 bytes of a row.
template <typename Element>
struct Piece {
  static constexpr int kElements = 16 / static_cast<int>(sizeof(Element));
  static __device__ __forceinline__ void widen(uint4 bits, float (&wide)[kElements]) {
    const unsigned words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(Element) == 4) {
        wide[i] = __uint_as_float(words[i]);
      } else if constexpr (std::is_same_v<Element, __nv_bfloat16>) {
        wide[2 * i] = __uint_as_float(words[i] << 16);
        wide[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
      } else {
        const float2 both = __half22float2(*reinterpret_cast<const __half2*>(&words[i]));
        wide[2 * i] = both.x;
        wide[2 * i + 1] = both.y;
      }
    }
  }
  static __device__ __forceinline__ void narrow(const float (&wide)[kElements], Element (&held)[kElements]) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) held[i] = static_cast<Element>(wide[i]);
  }
};

/// The pieces of the four corners; zero outside.
template <typename Element>
__device__ __forceinline__ void load_corners(const Element* __restrict__ values, const Corners& corners,
                                             int width, int pixel_elements, uint4 (&pieces)[4]) {
#pragma unroll
  for (int corner = 0; corner < 4; ++corner) {
    const int pixel = corners.pixel + corner % 2 + (corner / 2 != 0 ? width : 0);
    pieces[corner] = make_uint4(0, 0, 0, 0);
    if ((corners.inside >> corner & 1u) != 0)
      pieces[corner] =
          __ldg(reinterpret_cast<const uint4*>(values + static_cast<std::int64_t>(pixel) * pixel_elements));
  }
}

#endif

}  // namespace natten_sim::kernels::msda

#pragma once

#include <natten_sim/kernels/attention_forward/problem.hpp>

namespace natten_sim::kernels::attention_forward {

/// The fastest kernel for a head dimension, a constant expression; head_dim 0 where there is none.
[[nodiscard]] constexpr KernelShape best_shape(int head_dim, Dtype dtype, bool neighborhood) {
  KernelShape shape;
  shape.head_dim = head_dim;
  shape.dtype = dtype;
  shape.neighborhood = neighborhood;
  switch (head_dim) {
    case 64:
      shape.stages = shape.v_stages = 3;
      if (!neighborhood) {
        shape.q_tile = 192;
        shape.early = 0;
      }
      return shape;
    case 96:
    case 128:
      return shape;
    case 160:
      shape.kv_tile = 112;
      break;
    case 192:
      shape.kv_tile = 96;
      break;
    case 256:
      shape.kv_tile = 64;
      break;
    default:
      shape.head_dim = 0;
      return shape;
  }
  shape.q_stages = 1;  // no room for a second one
  shape.joined = false;
  return shape;
}

}  // namespace natten_sim::kernels::attention_forward

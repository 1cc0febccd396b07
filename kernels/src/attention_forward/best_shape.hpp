#pragma once

#include <natten_sim/kernels/attention_forward/problem.hpp>

namespace natten_sim::kernels::attention_forward {

/// The kernel for Q tiles that visit few KV tiles, and where the one for many has no room or was not measured
/// faster. A constant expression; head_dim 0 where there is none.
[[nodiscard]] constexpr KernelShape short_shape(int head_dim, Dtype dtype, bool neighborhood) {
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
        shape.rescale = Rescale::kRisen;
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
  return shape;
}

/// The kernel for Q tiles that visit many KV tiles. `mask_products`: of its KV tiles, see box_tables.hpp.
[[nodiscard]] constexpr KernelShape long_shape(int head_dim, Dtype dtype, bool neighborhood,
                                               int mask_products = 0) {
  KernelShape shape = short_shape(head_dim, dtype, neighborhood);
  if (head_dim > 160) return shape;  // no room for a second Q tile
  shape.mask_products = head_dim <= 128 || mask_products < 2 ? mask_products : 0;  // no room for more
  // Features of keys take the room of a third V tile.
  if (neighborhood && mask_products == 0 && (head_dim == 96 || head_dim == 128)) shape.v_stages = 3;
  shape.q_stages = 2;
  shape.rescale = Rescale::kOnOverflow;
  shape.early = 1;
  shape.joined = true;
  return shape;
}

/// Whether a kernel can add up parts of an item: neighborhoods and the widest heads have no registers left,
/// and joined items leave fewer.
[[nodiscard]] constexpr bool can_split(const KernelShape& shape) {
  return !shape.neighborhood && shape.head_dim <= (shape.joined ? 128 : 192);
}

}  // namespace natten_sim::kernels::attention_forward

// Kernels for dynamic tables whose chains stand in line for turns: see Draws.
#include "attention_backward/instance.cuh"

namespace natten_sim::kernels::attention_backward {
namespace {

template <typename Element, bool kPairs>
Instance of_head_dim_128() {
  return instance<Traits<Element, 128, 64, Pipeline::kDqInTurn, kPairs, Draws::kInTime>>();
}

template <typename Element, bool kPairs>
Instance of_head_dim_64() {
  return instance<Traits<Element, 64, 128, Pipeline::kDqInTurn, kPairs, Draws::kInTime>>();
}

}  // namespace

std::span<const Instance> kernels_that_draw_in_time() {
  static const Instance kTable[] = {of_head_dim_128<__nv_bfloat16, false>(), of_head_dim_128<__half, false>(),
                                    of_head_dim_128<__nv_bfloat16, true>(),  of_head_dim_128<__half, true>(),
                                    of_head_dim_64<__nv_bfloat16, false>(),  of_head_dim_64<__half, false>(),
                                    of_head_dim_64<__nv_bfloat16, true>(),   of_head_dim_64<__half, true>()};
  return kTable;
}

}  // namespace natten_sim::kernels::attention_backward

#include "attention_backward/instance.cuh"

namespace natten_sim::kernels::attention_backward {

std::span<const Instance> kernels_of_head_dim_64() {
  static const Instance kTable[] = {instance<Traits<__nv_bfloat16, 64, 128, Pipeline::kDqInTurn>>(),
                                    instance<Traits<__half, 64, 128, Pipeline::kDqInTurn>>(),
                                    instance<Traits<__nv_bfloat16, 64, 128, Pipeline::kDqInTurn, true>>(),
                                    instance<Traits<__half, 64, 128, Pipeline::kDqInTurn, true>>()};
  return kTable;
}

}  // namespace natten_sim::kernels::attention_backward

#include "attention_backward/sm80/engine.cuh"

namespace natten_sim::kernels::attention_backward {

std::span<const Instance> mma_kernels_of_head_dim_64() {
  static const Instance kTable[] = {
      sm80::instance<__nv_bfloat16, 64, 128, false>(), sm80::instance<__half, 64, 128, false>(),
      sm80::instance<__nv_bfloat16, 64, 128, true>(), sm80::instance<__half, 64, 128, true>()};
  return kTable;
}

}  // namespace natten_sim::kernels::attention_backward

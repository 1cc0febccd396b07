#include "attention_backward/sm80/engine.cuh"

namespace natten_sim::kernels::attention_backward {

std::span<const Instance> mma_kernels_of_head_dim_128() {
  static const Instance kTable[] = {
      sm80::instance<__nv_bfloat16, 128, 64, false>(), sm80::instance<__half, 128, 64, false>(),
      sm80::instance<__nv_bfloat16, 128, 64, true>(), sm80::instance<__half, 128, 64, true>()};
  return kTable;
}

}  // namespace natten_sim::kernels::attention_backward

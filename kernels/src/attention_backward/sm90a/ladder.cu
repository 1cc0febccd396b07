// Steps of the version ladder (docs/backward-kernel.md) that the kernel can still be built as: bf16, head
// dimension 128.
#include "attention_backward/instance.cuh"

namespace natten_sim::kernels::attention_backward {

std::span<const Instance> ladder_steps() {
  static const Instance kTable[] = {instance<Traits<__nv_bfloat16, 128, 64, false, false>>(),
                                    instance<Traits<__nv_bfloat16, 128, 64, true, false>>()};
  return kTable;
}

}  // namespace natten_sim::kernels::attention_backward

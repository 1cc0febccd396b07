// Steps of the version ladder (docs/backward-kernel.md) that the kernel can still be built as, bf16.
#include "attention_backward/instance.cuh"

namespace natten_sim::kernels::attention_backward {

std::span<const Instance> ladder_steps() {
  using Element = __nv_bfloat16;
  static const Instance kTable[] = {instance<Traits<Element, 128, 64, Pipeline::kWaitsApart>>(),
                                    instance<Traits<Element, 128, 64, Pipeline::kWaitsLate>>(),
                                    instance<Traits<Element, 128, 80, Pipeline::kWaitsLate>>(),
                                    instance<Traits<Element, 128, 80, Pipeline::kWaitsApart>>(),
                                    instance<Traits<Element, 64, 128, Pipeline::kWaitsApart>>(),
                                    instance<Traits<Element, 64, 128, Pipeline::kWaitsTogether>>()};
  return kTable;
}

}  // namespace natten_sim::kernels::attention_backward

// Sequences, head dimension 128.
#include "attention_forward/instance.cuh"

namespace natten_sim::kernels::attention_forward {

std::span<const Instance> sequences_head_dim_128() {
  static const std::vector<Instance> table = [] {
    std::vector<Instance> made;
    add_all<128>(made);
    return made;
  }();
  return table;
}

}  // namespace natten_sim::kernels::attention_forward

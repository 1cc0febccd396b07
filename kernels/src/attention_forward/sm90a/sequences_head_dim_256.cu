// Sequences, head dimension 256.
#include "attention_forward/instance.cuh"

namespace natten_sim::kernels::attention_forward {

std::span<const Instance> sequences_head_dim_256() {
  static const std::vector<Instance> table = [] {
    std::vector<Instance> made;
    add_all<256>(made);
    return made;
  }();
  return table;
}

}  // namespace natten_sim::kernels::attention_forward

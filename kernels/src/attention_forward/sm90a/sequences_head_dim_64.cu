// Sequences, head dimension 64.
#include "attention_forward/instance.cuh"

namespace natten_sim::kernels::attention_forward {

std::span<const Instance> sequences_head_dim_64() {
  static const std::vector<Instance> table = [] {
    std::vector<Instance> made;
    add_all<64>(made);
    return made;
  }();
  return table;
}

}  // namespace natten_sim::kernels::attention_forward

// Sequences, head dimension 96.
#include "attention_forward/instance.cuh"

namespace natten_sim::kernels::attention_forward {

std::span<const Instance> sequences_head_dim_96() {
  static const std::vector<Instance> table = [] {
    std::vector<Instance> made;
    add_all<96>(made);
    return made;
  }();
  return table;
}

}  // namespace natten_sim::kernels::attention_forward

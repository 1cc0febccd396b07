// Neighborhoods: KV tiles that are products of tile sides, at most 128 tokens.
#include "attention_forward/instance.cuh"

namespace natten_sim::kernels::attention_forward {

std::span<const Instance> neighborhoods() {
  static const std::vector<Instance> table = [] {
    std::vector<Instance> made;
    add_all<64, true>(made);
    add_all<96, true>(made);
    add_all<128, true>(made);
    add_all<160, true>(made);
    return made;
  }();
  return table;
}

}  // namespace natten_sim::kernels::attention_forward

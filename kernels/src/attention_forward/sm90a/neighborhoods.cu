// Neighborhoods: KV tiles that are products of tile sides, at most 128 tokens.
#include "attention_forward/instance.cuh"

namespace natten_sim::kernels::attention_forward {

std::span<const Instance> neighborhoods() {
  static const std::vector<Instance> table = [] {
    std::vector<Instance> made;
    add_both<MaskKind::kBox, 64, 128, 2, 3, 2>(made);
    add_both<MaskKind::kBox, 96, 128, 2, 2, 2>(made);
    add_both<MaskKind::kBox, 128, 128, 2, 2, 2>(made);
    add_both<MaskKind::kBox, 160, 112, 2, 2, 1>(made);
    return made;
  }();
  return table;
}

}  // namespace natten_sim::kernels::attention_forward

// Steps of the version ladder (docs/kernels.md) that the engine can still be built as: bf16, head dimension 128, and
// the choices at head dimension 64.
#include "attention_forward/instance.cuh"

namespace natten_sim::kernels::attention_forward {

std::span<const Instance> ladder_steps() {
  using Element = __nv_bfloat16;
  constexpr MaskKind kBand = MaskKind::kBand;
  static const std::vector<Instance> table = {
      instance<Traits<Element, 128, 128, 1, 2, 1, kBand, false, false, false, 0>>(),
      instance<Traits<Element, 128, 128, 2, 2, 1, kBand, false, false, false, 0>>(),
      instance<Traits<Element, 128, 128, 2, 2, 1, kBand, false, true, false, 0>>(),
      instance<Traits<Element, 128, 128, 2, 2, 1, kBand, true, true, false, 0>>(),
      instance<Traits<Element, 128, 128, 2, 2, 2, kBand, true, true, false, 0>>(),
      instance<Traits<Element, 128, 128, 2, 2, 2, kBand, true, true, true, 0>>(),
      instance<Traits<Element, 128, 128, 2, 2, 2, kBand, true, true, true, 1>>(),
      instance<Traits<Element, 128, 176, 2, 2, 1, kBand>>(),
      instance<Traits<Element, 128, 80, 3, 2, 2, kBand, true, false, true, 0>>(),
      instance<Traits<Element, 64, 128, 3, 3, 2, kBand, true, true>>(),
      instance<Traits<Element, 64, 128, 3, 3, 2, kBand>>(),
  };
  return table;
}

}  // namespace natten_sim::kernels::attention_forward

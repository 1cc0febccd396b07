#pragma once

#include "attention_forward/best_shape.hpp"
#include "attention_forward/engine.cuh"
#include "attention_forward/instances.hpp"

namespace natten_sim::kernels::attention_forward {

template <KernelShape kShape>
Instance instance() {
  using T = Traits<kShape>;
  static_assert(sizeof(Shared<T>) <= 232448, "shared memory of a CTA on sm_90");
  Instance made;
  made.shape = kShape;
  made.kernel = reinterpret_cast<const void*>(&attention_forward_kernel<T>);
  made.threads = T::kThreads;
  made.shared_bytes = sizeof(Shared<T>);
  made.columns = T::kColumns;
  return made;
}

template <int kHeadDim, int kProducts>
void add_masked_by_products(std::vector<Instance>& to) {
  constexpr KernelShape kShape = long_shape(kHeadDim, Dtype::kBf16, true, kProducts);
  if constexpr (kShape.mask_products == kProducts) {
    to.push_back(instance<kShape>());
    to.push_back(instance<long_shape(kHeadDim, Dtype::kFp16, true, kProducts)>());
  }
}

/// All that best_kernel chooses from, both element types.
template <int kHeadDim, bool kNeighborhood = false>
void add_all(std::vector<Instance>& to) {
  constexpr KernelShape kShort = short_shape(kHeadDim, Dtype::kBf16, kNeighborhood);
  constexpr KernelShape kLong = long_shape(kHeadDim, Dtype::kBf16, kNeighborhood);
  to.push_back(instance<kShort>());
  to.push_back(instance<short_shape(kHeadDim, Dtype::kFp16, kNeighborhood)>());
  if constexpr (!(kLong == kShort)) {
    to.push_back(instance<kLong>());
    to.push_back(instance<long_shape(kHeadDim, Dtype::kFp16, kNeighborhood)>());
    if constexpr (kNeighborhood) {
      static_assert(kMostMaskProducts == 2);
      add_masked_by_products<kHeadDim, 1>(to);
      add_masked_by_products<kHeadDim, 2>(to);
    }
  }
}

}  // namespace natten_sim::kernels::attention_forward

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
  }
}

}  // namespace natten_sim::kernels::attention_forward

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

/// Both element types of what best_kernel chooses.
template <int kHeadDim, bool kNeighborhood = false>
void add_both(std::vector<Instance>& to) {
  to.push_back(instance<best_shape(kHeadDim, Dtype::kBf16, kNeighborhood)>());
  to.push_back(instance<best_shape(kHeadDim, Dtype::kFp16, kNeighborhood)>());
}

}  // namespace natten_sim::kernels::attention_forward

#pragma once

#include "attention_backward/engine.cuh"
#include "attention_backward/instances.hpp"

namespace natten_sim::kernels::attention_backward {

template <class T>
Instance instance() {
  static_assert(sizeof(Shared<T>) <= 232448, "shared memory of a CTA on sm_90");
  Instance made;
  made.shape = {T::kHeadDim,  __is_same(typename T::Element, __half) ? Dtype::kFp16 : Dtype::kBf16,
                T::kQTile,    T::kKvTile,
                T::kPipeline, T::kPairs};
  made.kernel = reinterpret_cast<const void*>(&attention_backward_kernel<T>);
  made.draws = T::kDraws;
  made.threads = T::kThreads;
  made.shared_bytes = sizeof(Shared<T>);
  return made;
}

}  // namespace natten_sim::kernels::attention_backward

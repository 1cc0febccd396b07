#pragma once

#include "attention_forward/engine.cuh"
#include "attention_forward/instances.hpp"

namespace natten_sim::kernels::attention_forward {

template <class T>
Instance instance() {
  static_assert(sizeof(Shared<T>) <= 232448, "shared memory of a CTA on sm_90");
  Instance made;
  made.shape = {T::kHeadDim,
                __is_same(typename T::Element, __half) ? Dtype::kFp16 : Dtype::kBf16,
                T::kMask == MaskKind::kBox,
                T::kQTile,
                T::kKvTile,
                T::kStages,
                T::kQStages,
                T::kOverlap,
                T::kPingPong,
                T::kSkipRescale,
                T::kEarly};
  made.kernel = reinterpret_cast<const void*>(&attention_forward_kernel<T>);
  made.threads = T::kThreads;
  made.shared_bytes = sizeof(Shared<T>);
  made.columns = T::kColumns;
  return made;
}

/// Both element types. Head dimension, KV tile, consumer warpgroups, K and V stages, Q stages, rows of early
/// exponentials.
template <MaskKind kMask, int kHeadDim, int kKvTile, int kConsumers, int kStages, int kQStages,
          int kEarly = 1>
void add_both(std::vector<Instance>& to) {
  to.push_back(instance<Traits<__nv_bfloat16, kHeadDim, kKvTile, kConsumers, kStages, kQStages, kMask, true,
                               false, true, kEarly>>());
  to.push_back(instance<Traits<__half, kHeadDim, kKvTile, kConsumers, kStages, kQStages, kMask, true, false,
                               true, kEarly>>());
}

}  // namespace natten_sim::kernels::attention_forward

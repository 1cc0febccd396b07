#pragma once

#include <natten_sim/core/dtype.hpp>

namespace natten_sim::kernels::attention_backward {

/// Below it, rounding errors of the type are absolute.
[[nodiscard]] constexpr double smallest_normal(Dtype dtype) {
  return dtype == Dtype::kFp16 ? 0x1p-14 : 0x1p-126;
}

}  // namespace natten_sim::kernels::attention_backward

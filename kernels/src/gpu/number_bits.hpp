#pragma once

#include <cstdint>
#include <vector>

#include <natten_sim/core/dtype.hpp>

namespace natten_sim::kernels {

/// Numbers as a GPU holds them, on the host, for oracles. fp32, bf16 and fp16.

/// Rounded to nearest even, within the type's normal range.
[[nodiscard]] std::vector<std::uint8_t> encoded(Dtype dtype, const std::vector<double>& values);
[[nodiscard]] std::vector<double> decoded(Dtype dtype, const std::vector<std::uint8_t>& bytes);
/// The nearest number of the type.
[[nodiscard]] inline std::vector<double> rounded(Dtype dtype, const std::vector<double>& values) {
  return decoded(dtype, encoded(dtype, values));
}

}  // namespace natten_sim::kernels

#pragma once

#include <cstdint>

#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// Element type of a tensor or an accumulator.
enum class Dtype { kFp16, kBf16, kFp32, kE4m3, kE5m2 };

template <>
struct NamesOf<Dtype> {
  static constexpr const char* kConcept = "dtype";
  static constexpr Name<Dtype> kTable[] = {{Dtype::kFp16, "fp16"},
                                           {Dtype::kBf16, "bf16"},
                                           {Dtype::kFp32, "fp32"},
                                           {Dtype::kE4m3, "e4m3"},
                                           {Dtype::kE5m2, "e5m2"}};
  /// As PyTorch calls them.
  static constexpr Name<Dtype> kOther[] = {{Dtype::kFp16, "float16"},    {Dtype::kFp16, "half"},
                                           {Dtype::kBf16, "bfloat16"},   {Dtype::kFp32, "float32"},
                                           {Dtype::kFp32, "float"},      {Dtype::kE4m3, "float8_e4m3fn"},
                                           {Dtype::kE5m2, "float8_e5m2"}};
};

[[nodiscard]] constexpr std::int64_t element_bytes(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::kFp32:
      return 4;
    case Dtype::kFp16:
    case Dtype::kBf16:
      return 2;
    case Dtype::kE4m3:
    case Dtype::kE5m2:
      break;
  }
  return 1;
}

/// Bits of the significand, the hidden one included: a sum of magnitude 2^e has a spacing of 2^(e - bits +
/// 1).
[[nodiscard]] constexpr int significand_bits(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::kFp32:
      return 24;
    case Dtype::kFp16:
      return 11;
    case Dtype::kBf16:
      return 8;
    case Dtype::kE4m3:
      return 4;
    case Dtype::kE5m2:
      break;
  }
  return 3;
}

}  // namespace natten_sim

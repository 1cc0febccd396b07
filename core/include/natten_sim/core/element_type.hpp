#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace natten_sim {

/// Element types that gradients are accumulated in.
enum class ElementType { kFp32, kFp16, kBf16 };

[[nodiscard]] constexpr std::int64_t element_bytes(ElementType type) noexcept {
  return type == ElementType::kFp32 ? 4 : 2;
}

/// Bits of the significand, the hidden one included: a sum of magnitude 2^e has a spacing of 2^(e - bits +
/// 1).
[[nodiscard]] constexpr int significand_bits(ElementType type) noexcept {
  return type == ElementType::kFp32 ? 24 : type == ElementType::kFp16 ? 11 : 8;
}

[[nodiscard]] std::string to_string(ElementType type);
/// @throws UnknownName naming the known types.
[[nodiscard]] ElementType element_type(std::string_view name);

}  // namespace natten_sim

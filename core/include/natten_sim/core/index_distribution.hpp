#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <natten_sim/core/names.hpp>

namespace natten_sim {

/// How generated updates spread over the rows of a destination.
///
///     parse_index_distribution("zipf:1.5");  // ZipfRows{1.5}
///     to_string(HotRows{4});                 // "hot:4"
struct UniformRows {
  friend bool operator==(const UniformRows&, const UniformRows&) = default;
};
/// P(row k) proportional to 1 / (k + 1)^exponent for k = 0 .. rows - 1.
struct ZipfRows {
  double exponent = 1;  ///< 0..kMaxZipfExponent
  friend bool operator==(const ZipfRows&, const ZipfRows&) = default;
};
/// Updates spread round robin over `count` rows in distinct sectors, so their numbers differ by at most one.
struct HotRows {
  std::int64_t count = 1;
  friend bool operator==(const HotRows&, const HotRows&) = default;
};
using IndexDistribution = std::variant<UniformRows, ZipfRows, HotRows>;

inline constexpr double kMaxZipfExponent = 16;

/// Reads `uniform`, `zipf:S` or `hot:K`. @throws InvalidParameter naming `parameter`; `accepted` says what it
/// takes.
[[nodiscard]] IndexDistribution parse_index_distribution(std::string_view text,
                                                         const std::string& parameter = "distribution",
                                                         const char* accepted = "uniform, zipf:S or hot:K");

/// The text that reads back as the same distribution.
[[nodiscard]] std::string to_string(const IndexDistribution& distribution);

/// How many row numbers, 64-bit integers, a kernel reads for the elements it adds.
enum class IndexLayout {
  kElement,  ///< one for each element: an index expanded to the shape of the updates
  kRow       ///< one for each row
};

template <>
struct NamesOf<IndexLayout> {
  static constexpr const char* kConcept = "index";
  static constexpr Name<IndexLayout> kTable[] = {{IndexLayout::kElement, "element"},
                                                 {IndexLayout::kRow, "row"}};
};

/// Bytes of row numbers for `updates` rows of `width` elements.
[[nodiscard]] constexpr double index_bytes(IndexLayout layout, std::int64_t updates, std::int64_t width) {
  const double rows = static_cast<double>(updates);
  return 8 * (layout == IndexLayout::kElement ? rows * static_cast<double>(width) : rows);
}

}  // namespace natten_sim

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <natten_sim/core/per_axis.hpp>
#include <natten_sim/io/index_file.hpp>

namespace natten_sim {

/// Attention by offset, key minus query, from a NumPy file of f4 or f8: a table per head, head by head. With L tokens on
/// an axis its offsets are those from 1 - L to L - 1:
///
///     (heads, 2 * L0 - 1, ..) or (layers, heads, 2 * L0 - 1, ..)      whole tables
///     (heads, sum of 2 * L - 1) or (layers, heads, sum of 2 * L - 1)  products: the factors of each axis in turn
///
/// Nothing but one table is kept in memory.
class OffsetTables {
 public:
  /// Opens a file. @throws InvalidParameter naming `parameter`; MalformedData for another shape or type.
  OffsetTables(const std::string& parameter, const std::string& path, const Extents& layout);
  OffsetTables(ByteSource bytes, const Extents& layout, std::string where);

  [[nodiscard]] std::size_t layers() const noexcept { return layers_; }  ///< 1 in a file without layers
  [[nodiscard]] std::size_t heads() const noexcept { return heads_; }
  [[nodiscard]] bool product() const noexcept { return product_; }

  /// The next head's, by layer and head; call it layers() * heads() times.
  /// @throws MalformedData for a truncated file, negative or infinite values, a head without attention.
  [[nodiscard]] std::vector<double> next();

 private:
  ByteSource bytes_;
  std::string where_;
  std::size_t layers_ = 1, heads_ = 0, size_ = 0, element_bytes_ = 0, read_ = 0;
  bool product_ = false;
};

}  // namespace natten_sim

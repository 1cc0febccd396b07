#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/io/index_file.hpp>

namespace natten_sim {

/// What the header of a NumPy file (.npy) says about its elements.
struct NpyHeader {
  char kind = 0;               ///< b, i, u or f
  std::size_t bytes = 0;       ///< of an element
  bool fortran_order = false;  ///< and more than one axis
  std::int64_t elements = 0;
  std::vector<std::int64_t> shape;
};

/// Bytes of a file for an error message: bytes that are not printable ASCII become '?'.
[[nodiscard]] std::string printable(std::string_view bytes);

/// Reads the dictionary of a header: the keys descr, fortran_order and shape, each once, in any order, as
/// Python writes them. O(length), without recursion. @throws MalformedData.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text, const std::string& where);

/// What a NumPy file begins with, up to its first element. @throws MalformedData, for Fortran order too.
[[nodiscard]] NpyHeader read_npy_header(const ByteSource& bytes, const std::string& where);

}  // namespace natten_sim

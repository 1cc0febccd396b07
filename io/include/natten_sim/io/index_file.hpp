#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <natten_sim/core/index_stream.hpp>

namespace natten_sim {

enum class IndexFormat {
  kNpy,  ///< NumPy 1.0 to 3.0: integers, or floating-point numbers that are integers; C order, little-endian
  kCsv,  ///< integers separated by commas, semicolons, spaces or line breaks
  kRaw   ///< 64-bit little-endian integers
};

/// Fills a buffer from a file and returns the number of bytes: fewer than the buffer holds only at the end.
using ByteSource = std::function<std::size_t(std::span<char>)>;

/// Reads rows from bytes. Every row must lie in 0 .. rows - 1; the error names the position.
/// @throws MalformedData for a truncated or ill-formed file, NaN, fractions, rows out of range.
[[nodiscard]] std::unique_ptr<IndexStream> parse_indices(ByteSource bytes, IndexFormat format,
                                                         std::int64_t rows, std::string where);

/// By the ending of its name: .npy; .csv and .txt as text; anything else raw.
[[nodiscard]] IndexFormat index_format_of(const std::string& path);

/// Opens the file and reads rows from it as the stream is read; nothing of it is kept in memory.
/// @throws InvalidParameter naming `parameter` when it cannot be opened or read; what parse_indices throws.
[[nodiscard]] std::unique_ptr<IndexStream> open_index_file(const std::string& parameter,
                                                           const std::string& path, std::int64_t rows);

}  // namespace natten_sim

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>

namespace natten_sim {

/// Rows that updates go to, in order, in pieces: a stream of any length needs bounded memory.
class IndexStream {
 public:
  virtual ~IndexStream() = default;
  /// Fills the front of `rows`; returns how many, 0 at the end.
  /// @throws MalformedData for a stream that is read from a file.
  [[nodiscard]] virtual std::size_t read(std::span<std::int64_t> rows) = 0;
};

struct UniformRows {};
/// P(row k) proportional to 1 / (k + 1)^exponent for k = 0 .. rows - 1.
struct ZipfRows {
  double exponent = 1;
};
/// The same number of updates (up to one) for each of `count` rows, round robin, in distinct sectors.
struct HotRows {
  std::int64_t count = 1;
};
using IndexDistribution = std::variant<UniformRows, ZipfRows, HotRows>;

struct GeneratedIndices {
  IndexDistribution distribution;
  std::int64_t updates = 0;
  std::int64_t rows = 1;
  std::int64_t row_bytes = 32;  ///< keeps hot rows in distinct sectors
  std::uint64_t seed = 0;
};

inline constexpr std::int64_t kMaxRows = std::int64_t{1} << 28;
inline constexpr std::int64_t kMaxUpdates = (std::int64_t{1} << 32) - 1;
inline constexpr double kMaxZipfExponent = 16;

/// O(1) a row; Zipf first tabulates the distribution, 12 bytes a row. Deterministic for a seed.
/// @throws InvalidParameter naming the parameter out of range.
[[nodiscard]] std::unique_ptr<IndexStream> generate_indices(const GeneratedIndices& request);

enum class IndexFormat {
  kNpy,  ///< NumPy 1.0 to 3.0: integers, or floating-point numbers that are integers; C order, little-endian
  kCsv,  ///< integers separated by commas, semicolons, spaces or line breaks
  kRaw   ///< 64-bit little-endian integers
};

/// Fills a buffer from a file and returns how many bytes, fewer than asked only at the end.
using ByteSource = std::function<std::size_t(std::span<char>)>;

/// Reads rows from bytes. Every row must lie in 0 .. rows - 1; the error names the position.
/// @throws MalformedData for a truncated or ill-formed file, NaN, fractions, rows out of range.
[[nodiscard]] std::unique_ptr<IndexStream> parse_indices(ByteSource bytes, IndexFormat format,
                                                         std::int64_t rows, std::string where);

}  // namespace natten_sim

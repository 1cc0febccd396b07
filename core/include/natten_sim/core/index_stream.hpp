#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace natten_sim {

inline constexpr std::int64_t kMaxRows = std::int64_t{1} << 28;

/// The rows that updates go to, in order. They are read in pieces, so a stream of any length needs bounded
/// memory.
class IndexStream {
 public:
  virtual ~IndexStream() = default;
  /// Fills the front of `rows`; returns how many, 0 at the end.
  /// @throws MalformedData for a stream that is read from a file.
  [[nodiscard]] virtual std::size_t read(std::span<std::int64_t> rows) = 0;
  /// The share that has been read, 0..1; none: its length is not known.
  [[nodiscard]] virtual std::optional<double> share_read() const { return std::nullopt; }
};

}  // namespace natten_sim

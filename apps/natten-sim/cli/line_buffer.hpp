#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace natten_sim::cli {

/// The longest line that is read: 64 MiB.
inline constexpr std::size_t kLongestLine = std::size_t{1} << 26;

/// Bytes that come in pieces, cut into lines. A line that is too long is passed over with its bytes, which are not held.
///
///     while (const ssize_t got = ::read(file, buffer.room().data(), buffer.room().size())) {
///       buffer.added(got);
///       while (buffer.next(line)) ..
///     }
///     buffer.end();  // a last line without an end is a line
class LineBuffer {
 public:
  static constexpr std::size_t kPiece = std::size_t{1} << 18;

  /// Where the next piece goes. What next() gave is no longer valid.
  [[nodiscard]] std::span<char> room();
  /// So many bytes of it are there. A byte order mark at the very beginning is dropped.
  void added(std::size_t bytes);
  void end() { done_ = true; }
  [[nodiscard]] bool ended() const { return done_; }

  /// False: none is complete. `line` is valid until room(); empty where it was too long.
  [[nodiscard]] bool next(std::string_view& line);
  [[nodiscard]] bool was_too_long() const { return was_too_long_; }
  /// Bytes of the line that is being read, where it is too long already.
  [[nodiscard]] double passed_over() const { return passed_over_; }
  /// Bytes that are held and belong to no line yet.
  [[nodiscard]] std::size_t held() const { return end_ - begin_; }

 private:
  std::vector<char> bytes_;
  std::size_t begin_ = 0, searched_ = 0, end_ = 0;
  bool first_ = true, done_ = false, was_too_long_ = false;
  double passed_over_ = 0;
};

}  // namespace natten_sim::cli

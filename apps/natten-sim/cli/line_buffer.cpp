#include "cli/line_buffer.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <natten_sim/io/files.hpp>

namespace natten_sim::cli {

std::span<char> LineBuffer::room() {
  // What was searched of a line that is too long is dropped.
  if (passed_over_ > 0 || end_ - begin_ > kLongestLine) {
    passed_over_ += static_cast<double>(end_ - begin_);
    begin_ = end_;
  }
  std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(begin_), bytes_.begin() + static_cast<std::ptrdiff_t>(end_),
            bytes_.begin());
  searched_ -= begin_;
  end_ -= begin_;
  begin_ = 0;
  if (end_ == 0 && bytes_.size() > 16 * kPiece) std::vector<char>().swap(bytes_);  // one long line was enough
  if (bytes_.size() < end_ + kPiece) bytes_.resize(2 * end_ + kPiece);
  return std::span(bytes_).subspan(end_, kPiece);
}

void LineBuffer::added(std::size_t bytes) {
  end_ += bytes;
  if (std::exchange(first_, false) && std::string_view(bytes_.data(), end_).starts_with(kByteOrderMark))
    begin_ = searched_ = kByteOrderMark.size();
}

bool LineBuffer::next(std::string_view& line) {
  const std::size_t end = std::string_view(bytes_.data(), end_).find('\n', searched_);
  const bool last = end == std::string_view::npos;
  if (last) {
    searched_ = end_;
    if (!done_ || (begin_ == end_ && passed_over_ == 0)) return false;
  }
  line = {bytes_.data() + begin_, (last ? end_ : end) - begin_};
  was_too_long_ = std::exchange(passed_over_, 0) > 0 || line.size() > kLongestLine;
  if (was_too_long_) line = {};
  begin_ = searched_ = last ? end_ : end + 1;
  return true;
}

}  // namespace natten_sim::cli

#include "cli/line_source.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <natten_sim/io/files.hpp>

namespace natten_sim::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18, kLongestLine = std::size_t{1} << 26;
constexpr double kMostPassedOver = 1 << 30;

}  // namespace

LineSource::LineSource(std::string parameter, const std::string& path, const std::string& otherwise)
    : parameter_(std::move(parameter)), path_(path), file_(STDIN_FILENO) {
  if (path == "-") return;
  require_path(parameter_, path);
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0)
    throw InvalidParameter(parameter_, path, "a readable file, or - for standard input" + otherwise);
  std::error_code unknown;  // a pipe has no size: no progress
  size_ = static_cast<double>(std::filesystem::file_size(path, unknown));
  if (unknown) size_ = 0;
}

LineSource::~LineSource() {
  if (file_ != STDIN_FILENO) ::close(file_);
}

bool LineSource::next(std::string_view& line, const std::function<void()>& before_read) {
  std::size_t end = std::string_view::npos;
  while (true) {
    end = std::string_view(buffer_.data(), end_).find('\n', searched_);
    if (end != std::string_view::npos || done_) break;
    searched_ = end_;
    before_read();
    fill();
  }
  const bool last = end == std::string_view::npos;
  if (last && begin_ == end_ && passed_over_ == 0) return false;
  line = {buffer_.data() + begin_, (last ? end_ : end) - begin_};
  was_too_long_ = std::exchange(passed_over_, 0) > 0 || line.size() > kLongestLine;
  if (was_too_long_) line = {};
  begin_ = searched_ = last ? end_ : end + 1;
  return true;
}

InvalidParameter LineSource::too_long() const {
  return {parameter_, path_, "lines of at most " + std::to_string(kLongestLine) + " bytes"};
}

std::optional<InvalidParameter> LineSource::refused() const {
  return was_too_long_ ? std::optional(too_long()) : std::nullopt;
}

double LineSource::share_taken() const {
  return size_ > 0 ? std::min(1.0, (read_ - static_cast<double>(end_ - begin_)) / size_) : 0;
}

/// What was searched of a line that is too long is dropped.
void LineSource::make_room() {
  if (passed_over_ > 0 || end_ - begin_ > kLongestLine) {
    passed_over_ += static_cast<double>(end_ - begin_);
    begin_ = end_;
  }
  if (passed_over_ > kMostPassedOver) throw too_long();
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  searched_ = end_;
  if (buffer_.size() < end_ + kPiece) buffer_.resize(2 * end_ + kPiece);
}

void LineSource::drop_byte_order_mark() {
  if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark))
    begin_ = searched_ = kByteOrderMark.size();
}

void LineSource::fill() {
  make_room();
  ssize_t got = 0;
  do {
    got = ::read(file_, buffer_.data() + end_, kPiece);
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw InvalidParameter(parameter_, path_, "a file that can be read to its end");
  done_ = got == 0;
  end_ += static_cast<std::size_t>(got);
  if (read_ == 0) drop_byte_order_mark();
  read_ += static_cast<double>(got);
}

Json error_fields(const Error& error) {
  Json fields = {{"message", error.what()},
                 {"parameter", error.parameter()},
                 {"value", error.value()},
                 {"accepted", error.accepted()}};
  if (!error.hint().empty()) fields["hint"] = error.hint();
  return fields;
}

}  // namespace natten_sim::cli

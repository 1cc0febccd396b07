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
  while (true) {
    const std::size_t at = std::string_view(buffer_.data(), end_).find('\n', searched_);
    if (at != std::string_view::npos) {
      line = {buffer_.data() + begin_, at - begin_};
      begin_ = searched_ = at + 1;
      return true;
    }
    searched_ = end_;
    if (done_) break;
    before_read();
    fill();
  }
  if (begin_ == end_) return false;
  line = {buffer_.data() + begin_, end_ - begin_};
  begin_ = searched_ = end_;
  return true;
}

double LineSource::share_taken() const {
  return size_ > 0 ? std::min(1.0, (read_ - static_cast<double>(end_ - begin_)) / size_) : 0;
}

void LineSource::fill() {
  constexpr std::size_t kPiece = std::size_t{1} << 18, kLongestLine = std::size_t{1} << 26;
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  searched_ -= begin_;
  begin_ = 0;
  if (end_ > kLongestLine)
    throw InvalidParameter(parameter_, path_, "lines of at most " + std::to_string(kLongestLine) + " bytes");
  if (buffer_.size() < end_ + kPiece) buffer_.resize(2 * end_ + kPiece);
  ssize_t got = 0;
  do {
    got = ::read(file_, buffer_.data() + end_, kPiece);
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw InvalidParameter(parameter_, path_, "a file that can be read to its end");
  done_ = got == 0;
  end_ += static_cast<std::size_t>(got);
  const std::string_view start(buffer_.data(), end_);
  if (read_ == 0 && start.starts_with(kByteOrderMark)) begin_ = searched_ = kByteOrderMark.size();
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

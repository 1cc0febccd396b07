#include "cli/line_source.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <unistd.h>

#include <natten_sim/io/file_access.hpp>
#include <natten_sim/io/files.hpp>

namespace natten_sim::cli {
namespace {

constexpr double kMostPassedOver = 1 << 30;

}  // namespace

LineSource::LineSource(std::string parameter, const std::string& path, const std::string& otherwise)
    : parameter_(std::move(parameter)), path_(path), file_(STDIN_FILENO) {
  require_path(parameter_, path);
  if (path == "-") return;
  file_ = open_to_read(parameter_, path);
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
  while (!buffer_.next(line)) {
    if (buffer_.ended()) return false;
    before_read();
    fill();
  }
  return true;
}

InvalidParameter LineSource::too_long() const {
  return {parameter_, path_, "lines of at most " + std::to_string(kLongestLine) + " bytes"};
}

std::optional<InvalidParameter> LineSource::refused() const {
  return buffer_.was_too_long() ? std::optional(too_long()) : std::nullopt;
}

double LineSource::share_taken() const {
  return size_ > 0 ? std::min(1.0, (read_ - static_cast<double>(buffer_.held())) / size_) : 0;
}

void LineSource::fill() {
  const std::span<char> room = buffer_.room();
  if (buffer_.passed_over() > kMostPassedOver) throw too_long();
  ssize_t got = 0;
  do {
    got = ::read(file_, room.data(), room.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw InvalidParameter(parameter_, path_, "a file that can be read to its end");
  if (got == 0) return buffer_.end();
  buffer_.added(static_cast<std::size_t>(got));
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

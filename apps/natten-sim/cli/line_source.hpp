#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json.hpp>

#include "cli/line_buffer.hpp"

namespace natten_sim::cli {

/// The lines of a file or of standard input, read in large pieces. One of more than 64 MiB is passed over
/// with its bytes; one without an end within 1 GiB ends the input with an error.
class LineSource {
 public:
  /// @param path -: standard input
  /// @param otherwise ends the message about a file that cannot be read
  /// @throws InvalidParameter naming `parameter`
  LineSource(std::string parameter, const std::string& path, const std::string& otherwise = "");
  ~LineSource();
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// `line` is valid until the next call; empty where it was too long. `before_read` is called before the
  /// source may wait. @throws InvalidParameter
  bool next(std::string_view& line, const std::function<void()>& before_read);
  /// Why the last line has no text; none: it has. Naming `parameter`.
  [[nodiscard]] std::optional<InvalidParameter> refused() const;
  /// Of the input, the share before the end of the last line; 0 where its size is not known.
  [[nodiscard]] double share_taken() const;

 private:
  [[nodiscard]] InvalidParameter too_long() const;
  void fill();

  std::string parameter_, path_;
  int file_;
  LineBuffer buffer_;
  double size_ = 0, read_ = 0;
};

/// `message`, `parameter`, `value`, `accepted` and, where there is one, `hint`: what stands in the place of
/// an answer.
[[nodiscard]] Json error_fields(const Error& error);

}  // namespace natten_sim::cli

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json.hpp>

namespace natten_sim::cli {

/// The lines of a file or of standard input, read in large pieces.
class LineSource {
 public:
  /// @param path -: standard input
  /// @param otherwise ends the message about a file that cannot be read
  /// @throws InvalidParameter naming `parameter`
  LineSource(std::string parameter, const std::string& path, const std::string& otherwise = "");
  ~LineSource();
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// `line` is valid until the next call. `before_read` is called before the source may wait.
  bool next(std::string_view& line, const std::function<void()>& before_read);
  /// Of the input, the share before the end of the last line; 0 where its size is not known.
  [[nodiscard]] double share_taken() const;

 private:
  void fill();

  std::string parameter_, path_;
  int file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, searched_ = 0, end_ = 0;
  bool done_ = false;
  double size_ = 0, read_ = 0;
};

/// `message`, `parameter`, `value`, `accepted` and, where there is one, `hint`: what stands in the place of
/// an answer.
[[nodiscard]] Json error_fields(const Error& error);

}  // namespace natten_sim::cli

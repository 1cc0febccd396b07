#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include <natten_sim/io/temporary_file.hpp>

namespace natten_sim {

/// The largest text that read_text takes without another limit: 256 MiB.
inline constexpr std::int64_t kMaxTextBytes = std::int64_t{1} << 28;
/// The largest presets, devices, costs and configurations: 64 MiB.
inline constexpr std::int64_t kMaxCatalogBytes = std::int64_t{1} << 26;

/// @throws InvalidParameter naming `parameter` for a path with a NUL byte, before which the system would end it, and
/// for one that FileAccess forbids to read.
void require_path(const std::string& parameter, const std::string& path);

/// What some editors write before a text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The whole file `path`, or standard input for "-", without the byte order mark that some editors write.
/// @throws InvalidParameter naming `parameter` when it cannot be read or is longer than `max_bytes`.
[[nodiscard]] std::string read_text(const std::string& parameter, const std::string& path,
                                    std::int64_t max_bytes = kMaxTextBytes);

/// Makes the folder `path` and those that it lies in, as far as they are missing.
/// @throws InvalidParameter naming `parameter` when it cannot.
void make_folder(const std::string& parameter, const std::string& path);

/// A file that appears complete or not at all. It is written beside `path` under a random name that did not
/// exist before, and put in its place by commit(), after the disk has it. Without commit() nothing remains and
/// an older file stays as it was. Whom the older file let read it may read the new one; a link stays a link.
/// Devices and pipes are written directly.
class ReplacedFile {
 public:
  /// @throws InvalidParameter naming `parameter` when `path` cannot be written.
  ReplacedFile(std::string parameter, const std::string& path);
  ~ReplacedFile();
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;

  /// The path with links followed: two files are the same if this is.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// False for a device or a pipe.
  [[nodiscard]] bool is_replaced() const { return temporary_ != nullptr; }
  /// For writing; valid until commit().
  [[nodiscard]] std::FILE* stream() const { return file_; }
  /// False when something could not be written; errno says why. Nothing remains then.
  [[nodiscard]] bool commit();

 private:
  std::string path_;
  std::unique_ptr<TemporaryFile> temporary_;  // null: written directly
  std::FILE* file_ = nullptr;
};

}  // namespace natten_sim

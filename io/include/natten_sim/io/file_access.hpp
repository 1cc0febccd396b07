#pragma once

#include <cstdio>
#include <string>

namespace natten_sim {

/// Which files a question may name. A program that answers questions of others sets this before the first of them:
///
///     const FileAccess::Scope scope({.files = FileAccess::Files::kBelow, .root = "/data"});
///
/// All readers open files by open_to_read(), or ask require_path() where "-" is standard input; both throw where the
/// rules forbid it. Links are followed before a path is judged. The rules are the process's, of all its threads.
/// Without a scope everything is allowed.
struct FileAccess {
  enum class Files {
    kAll,    ///< what the process may read and write
    kBelow,  ///< read what lies in `root`, write nothing
    kNone    ///< read and write nothing
  };
  Files files = Files::kAll;
  std::string root = {};       ///< of kBelow: a folder
  bool standard_input = true;  ///< "-" as a path

  class Scope;
};

/// The rules of one process while it lives. One at a time.
class FileAccess::Scope {
 public:
  /// @throws InvalidParameter naming `root` when that is no folder
  explicit Scope(FileAccess access);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

/// @throws InvalidParameter naming `parameter` when no file may be written
void require_writable(const std::string& parameter, const std::string& path);

/// Opens a file, a pipe or a device for reading. @return the descriptor; -1: it cannot be opened, and errno says why.
/// @throws InvalidParameter naming `parameter` where the rules forbid it
[[nodiscard]] int open_to_read(const std::string& parameter, const std::string& path);
/// The same as a stream; null: it cannot be opened.
[[nodiscard]] std::FILE* open_stream(const std::string& parameter, const std::string& path);

}  // namespace natten_sim

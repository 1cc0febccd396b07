#pragma once

#include <memory>
#include <string>

namespace natten_sim {

/// A new file under a name that nobody can guess. Nothing of it remains:
///   * it is removed with the object,
///   * a signal that ends the program removes it (remove_temporary_files),
///   * of a process that was killed or crashed, whoever next makes one in the same folder removes it. A lock
///   that
///     the system drops with the process tells leftovers from files in use, also of other machines.
class TemporaryFile {
 public:
  /// In `folder` (empty: the working directory); its name ends in ".tmp", or in ".svg". Null: it cannot be
  /// made, and errno says why.
  [[nodiscard]] static std::unique_ptr<TemporaryFile> create(const std::string& folder,
                                                             const std::string& ending = ".tmp");
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Open for writing while the object lives.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Gives the file its final name, in place of what had it; false: it cannot, and errno says why.
  [[nodiscard]] bool move_to(const std::string& path);

 private:
  TemporaryFile(std::string path, int descriptor);

  std::string path_;  // empty: it has its final name
  int descriptor_;
};

/// A path that this process made, such as that of a socket: removed with the object, and by a signal that ends the
/// program.
class GuardedPath {
 public:
  explicit GuardedPath(std::string path);
  ~GuardedPath();
  GuardedPath(const GuardedPath&) = delete;
  GuardedPath& operator=(const GuardedPath&) = delete;

 private:
  std::string path_;
};

/// Removes all temporary files and guarded paths of this process. For a signal handler: calls nothing but unlink.
void remove_temporary_files() noexcept;

/// Removes what dead processes left in `folder`: files with names of temporary files, of this user, a minute
/// old, that nobody holds. TemporaryFile::create does so once in each folder.
void remove_leftovers(const std::string& folder) noexcept;

}  // namespace natten_sim

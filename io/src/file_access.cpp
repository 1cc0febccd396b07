#include <cstdlib>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/file_access.hpp>
#include <natten_sim/io/files.hpp>

namespace natten_sim {
namespace {

/// Null: everything is allowed.
std::unique_ptr<const FileAccess>& rules() {
  static std::unique_ptr<const FileAccess> current;
  return current;
}

/// The path with its links followed; empty: there is no such file.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : "";
}

bool lies_in(const std::string& path, const std::string& root) {
  return path == root || root == "/" ||
         (path.starts_with(root) && path.size() > root.size() && path[root.size()] == '/');
}

[[noreturn]] void refuse(const std::string& parameter, const std::string& path, const FileAccess& access) {
  throw InvalidParameter(parameter, path,
                         access.files == FileAccess::Files::kBelow
                             ? "a file in the folder of " + mention("root")
                             : "no file, unless " + mention("root") + " names the folder that requests may read");
}

}  // namespace

FileAccess::Scope::Scope(FileAccess access) {
  if (access.files == Files::kBelow) {
    struct stat found {};
    const std::string given = std::exchange(access.root, real_path(access.root));
    if (access.root.empty() || ::stat(access.root.c_str(), &found) != 0 || !S_ISDIR(found.st_mode))
      throw InvalidParameter("root", "'" + given + "'", "a folder");
  }
  rules() = std::make_unique<const FileAccess>(std::move(access));
}

FileAccess::Scope::~Scope() { rules().reset(); }

void require_path(const std::string& parameter, const std::string& path) {
  if (path.find('\0') != std::string::npos)
    throw InvalidParameter(parameter, "'" + path + "'", "a path without NUL bytes");
  const FileAccess* const access = rules().get();
  if (access == nullptr) return;
  if (path == "-") {
    if (access->standard_input) return;
    throw InvalidParameter(parameter, path, "a file: standard input has the requests");
  }
  if (access->files == FileAccess::Files::kAll) return;
  if (access->files == FileAccess::Files::kNone || !lies_in(real_path(path), access->root))
    refuse(parameter, path, *access);
}

void require_writable(const std::string& parameter, const std::string& path) {
  const FileAccess* const access = rules().get();
  if (access == nullptr || access->files == FileAccess::Files::kAll) return;
  throw InvalidParameter(parameter, path, "no file: requests may write none");
}

int open_to_read(const std::string& parameter, const std::string& path) {
  require_path(parameter, path);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const FileAccess* const access = rules().get();
  if (file < 0 || access == nullptr || access->files == FileAccess::Files::kAll) return file;
  // What was opened, should the path have become another file's in between.
  if (lies_in(real_path("/proc/self/fd/" + std::to_string(file)), access->root)) return file;
  (void)::close(file);
  refuse(parameter, path, *access);
}

std::FILE* open_stream(const std::string& parameter, const std::string& path) {
  const int file = open_to_read(parameter, path);
  return file < 0 ? nullptr : ::fdopen(file, "rb");
}

}  // namespace natten_sim

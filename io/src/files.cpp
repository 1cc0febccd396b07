#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/file_access.hpp>
#include <natten_sim/io/files.hpp>

namespace natten_sim {
namespace {

namespace fs = std::filesystem;

struct CloseUnlessStdin {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

}  // namespace

std::string read_text(const std::string& parameter, const std::string& path, std::int64_t max_bytes) {
  require_path(parameter, path);
  const std::unique_ptr<std::FILE, CloseUnlessStdin> file(path == "-" ? stdin : open_stream(parameter, path));
  const auto fail = [&] {
    throw InvalidParameter(parameter, path, std::string("a readable file: ") + std::strerror(errno));
  };
  if (!file) fail();
  std::string text;
  char buffer[1 << 16];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file.get())) > 0;) {
    if (static_cast<std::int64_t>(text.size() + got) > max_bytes)
      throw InvalidParameter(parameter, path, "a text of at most " + std::to_string(max_bytes) + " bytes");
    text.append(buffer, got);
  }
  if (std::ferror(file.get()) != 0) fail();
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

void make_folder(const std::string& parameter, const std::string& path) {
  require_writable(parameter, path);
  require_path(parameter, path);
  std::error_code failed, unknown;
  fs::create_directories(path, failed);
  if (!failed && fs::is_directory(path, unknown)) return;
  throw InvalidParameter(parameter, path,
                         "a folder that can be made" + (failed ? " (" + failed.message() + ")" : ""));
}

ReplacedFile::ReplacedFile(std::string parameter, const std::string& path) {
  require_writable(parameter, path);
  require_path(parameter, path);
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) throw InvalidParameter(parameter, path, "a file, this is a folder");
  const fs::path resolved = fs::weakly_canonical(path, unknown);
  path_ = unknown ? path : resolved.string();
  struct stat old {};
  const bool exists = ::stat(path_.c_str(), &old) == 0;
  // A link that leads nowhere is not replaced by a file.
  const bool is_free = !exists && errno == ENOENT && ::lstat(path_.c_str(), &old) != 0 && errno == ENOENT;
  int file = -1;
  if (exists && !S_ISREG(old.st_mode)) {
    file = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else if (is_free || (exists && ::access(path_.c_str(), W_OK) == 0)) {
    temporary_ = TemporaryFile::create(fs::path(path_).parent_path().string());
    if (temporary_) file = ::fcntl(temporary_->descriptor(), F_DUPFD_CLOEXEC, 0);
  }
  if (file >= 0 && exists && temporary_) (void)::fchmod(file, old.st_mode & 07777);
  file_ = file < 0 ? nullptr : ::fdopen(file, "wb");
  if (file_ != nullptr) return;
  const std::string reason = std::strerror(errno);
  if (file >= 0) (void)::close(file);
  throw InvalidParameter(std::move(parameter), path + " (" + reason + ")", "a path that can be written");
}

ReplacedFile::~ReplacedFile() {
  if (file_ != nullptr) (void)std::fclose(file_);
}

bool ReplacedFile::commit() {
  std::FILE* file = std::exchange(file_, nullptr);
  // A pipe or device takes no fsync; a full disk may tell of it only here.
  const bool written =
      std::fflush(file) == 0 && std::ferror(file) == 0 && (!temporary_ || ::fsync(::fileno(file)) == 0);
  const int reason = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written) errno = reason;
  if (written && closed && (!temporary_ || temporary_->move_to(path_))) return true;
  temporary_.reset();
  return false;
}

}  // namespace natten_sim

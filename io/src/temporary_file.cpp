#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <random>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <natten_sim/io/temporary_file.hpp>

namespace natten_sim {
namespace {

namespace fs = std::filesystem;

/// Paths for remove_temporary_files. Fixed memory, since a signal handler may touch nothing else.
constexpr std::size_t kMaxGuarded = 16;
constexpr std::size_t kMaxPathBytes = 4096;
enum SlotState : int { kFree, kChanging, kGuarded };
char guarded_paths[kMaxGuarded][kMaxPathBytes];
std::atomic<int> guarded[kMaxGuarded];

void guard(const std::string& path) {
  if (path.size() >= kMaxPathBytes) return;
  for (std::size_t i = 0; i < kMaxGuarded; ++i) {
    int free = kFree;
    if (!guarded[i].compare_exchange_strong(free, kChanging)) continue;
    std::strcpy(guarded_paths[i], path.c_str());
    guarded[i] = kGuarded;
    return;
  }
}

void release(const std::string& path) {
  for (std::size_t i = 0; i < kMaxGuarded; ++i) {
    if (guarded[i] == kGuarded && path == guarded_paths[i]) guarded[i] = kFree;
  }
}

constexpr std::string_view kPrefix = ".natten-sim-";
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kRandomDigits = 32;

std::string random_name(const std::string& ending) {
  std::random_device random;
  std::string name(kPrefix);
  for (std::size_t i = 0; i < kRandomDigits; ++i) name += kDigits[random() & 15u];
  return name + ending;
}

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(kPrefix) || !(name.ends_with(".tmp") || name.ends_with(".svg"))) return false;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(4);
  return name.size() == kRandomDigits && name.find_first_not_of(kDigits) == std::string_view::npos;
}

constexpr std::time_t kLeftoverAgeS = 60;  // a file is made before it is locked

bool is_old_file_of_user(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid() &&
         std::time(nullptr) - found.st_mtime >= kLeftoverAgeS;
}

/// Of the open file, so that it lasts until the last of its descriptors is closed: by the process or by its
/// end.
bool lock(int file, short kind) {
  struct flock whole {};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  return ::fcntl(file, F_OFD_SETLK, &whole) == 0;
}

bool is_held(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool free = file >= 0 && lock(file, F_RDLCK);
  if (file >= 0) (void)::close(file);
  return !free;
}

void remove_leftovers_once(const std::string& folder) {
  static std::mutex mutex;
  static std::set<std::string> done;
  const std::lock_guard lock(mutex);
  if (done.insert(folder).second) remove_leftovers(folder);
}

}  // namespace

void remove_temporary_files() noexcept {
  for (std::size_t i = 0; i < kMaxGuarded; ++i) {
    if (guarded[i] == kGuarded) (void)::unlink(guarded_paths[i]);
  }
}

void remove_leftovers(const std::string& folder) noexcept {
  std::error_code failed;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string path = entry->path().string();
    if (is_temporary_name(entry->path().filename().native()) && is_old_file_of_user(path) && !is_held(path))
      (void)::unlink(path.c_str());
  }
}

GuardedPath::GuardedPath(std::string path) : path_(std::move(path)) { guard(path_); }

GuardedPath::~GuardedPath() {
  (void)::unlink(path_.c_str());
  release(path_);
}

std::unique_ptr<TemporaryFile> TemporaryFile::create(const std::string& folder, const std::string& ending) {
  remove_leftovers_once(folder);
  const std::string path = (fs::path(folder) / random_name(ending)).string();
  guard(path);
  // Did not exist before; never follows a link.
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file >= 0) {
    (void)lock(file, F_WRLCK);
    return std::unique_ptr<TemporaryFile>(new TemporaryFile(path, file));
  }
  release(path);
  return nullptr;
}

TemporaryFile::TemporaryFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

TemporaryFile::~TemporaryFile() {
  const int reason = errno;
  if (!path_.empty()) {
    (void)::unlink(path_.c_str());
    release(path_);
  }
  (void)::close(descriptor_);
  errno = reason;
}

bool TemporaryFile::move_to(const std::string& path) {
  if (std::rename(path_.c_str(), path.c_str()) != 0) return false;
  release(path_);
  path_.clear();
  return true;
}

}  // namespace natten_sim

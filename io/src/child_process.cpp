#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <natten_sim/io/child_process.hpp>

extern char** environ;

namespace natten_sim {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> folders_of_path() {
  const char* const listed = std::getenv("PATH");
  std::string left = std::string(listed == nullptr ? "" : listed) + ":";
  std::vector<std::string> folders;
  for (std::size_t end = 0; (end = left.find(':')) != std::string::npos; left.erase(0, end + 1)) {
    if (end > 0) folders.push_back(left.substr(0, end));
  }
  return folders;
}

/// What a child does to its files before it begins.
class FileActions {
 public:
  FileActions() { (void)::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { (void)::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void write_to(int descriptor) {
    (void)::posix_spawn_file_actions_adddup2(&actions_, descriptor, STDOUT_FILENO);
  }
  void drop_messages() {
    (void)::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// All that comes until the other end is closed.
std::string read_all(int descriptor) {
  std::string bytes;
  std::array<char, 65536> chunk{};
  while (true) {
    const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
    if (got > 0) bytes.append(chunk.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return bytes;
  }
}

void wait_for(pid_t child) {
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string find_program(const std::string& name, const std::vector<std::string>& others) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  std::vector<std::string> folders = folders_of_path();
  folders.insert(folders.end(), others.begin(), others.end());
  for (const std::string& folder : folders) {
    if (is_program(fs::path(folder) / name)) return (fs::path(folder) / name).string();
  }
  return "";
}

std::string output_of_program(const std::string& path, const std::vector<std::string>& words,
                              ChildMessages messages) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  FileActions actions;
  actions.write_to(ends[1]);
  if (messages == ChildMessages::kDropped) actions.drop_messages();
  std::vector<std::string> all = {path};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const bool started =
      ::posix_spawn(&child, path.c_str(), actions.get(), nullptr, pointers.data(), environ) == 0;
  (void)::close(ends[1]);
  std::string output = started ? read_all(ends[0]) : "";
  (void)::close(ends[0]);
  if (started) wait_for(child);
  return output;
}

}  // namespace natten_sim

#pragma once

#include <map>
#include <string>
#include <string_view>

/// A fuzz target reads one input. It may refuse it by throwing natten_sim::Error. Whatever else it throws, a
/// crash, a hang, and a `require` that does not hold are bugs.
namespace natten_sim::fuzz {

using Read = void (*)(std::string_view input);

/// Each file of targets/ has one object of this, which puts its name and function on the list.
struct Target {
  Target(const char* name, Read read);
};

/// Those of this program, by name.
[[nodiscard]] const std::map<std::string, Read>& targets();

/// Ends the process with `what`, unless it holds.
void require(bool holds, const char* what);

/// A file in memory with this text, for what reads paths. Its path is valid as long as it is.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int file_;
  std::string path_;
};

/// Runs `read`; false if it refused the input. Ends the process at any other exception, and at a message that
/// fills a screen.
bool try_input(Read read, std::string_view input);

}  // namespace natten_sim::fuzz

#include "fuzz/target.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include <sys/mman.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>

namespace natten_sim::fuzz {
namespace {

constexpr std::size_t kLongestMessage = 4096;

std::map<std::string, Read>& list() {
  static std::map<std::string, Read> all;
  return all;
}

}  // namespace

Target::Target(const char* name, Read read) { list()[name] = read; }

const std::map<std::string, Read>& targets() { return list(); }

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", what);
  std::abort();
}

MemoryFile::MemoryFile(std::string_view text) : file_(::memfd_create("input", 0)) {
  require(file_ >= 0 && ::write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
          "a file in memory can be written");
  path_ = "/proc/self/fd/" + std::to_string(file_);
}

MemoryFile::~MemoryFile() { ::close(file_); }

bool try_input(Read read, std::string_view input) {
  try {
    read(input);
    return true;
  } catch (const Error& error) {
    require(error.sentence("--").size() <= kLongestMessage, "a message of at most 4096 bytes");
    return false;
  } catch (const std::exception& other) {
    std::fprintf(stderr, "fuzz: threw %s\n", other.what());
    std::abort();
  }
}

}  // namespace natten_sim::fuzz

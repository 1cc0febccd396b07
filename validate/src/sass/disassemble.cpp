#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/validate/sass/lowering_check.hpp>

namespace natten_sim::validate {
namespace {

constexpr const char* kDisassembler = "cuobjdump";

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// The program's path; empty without one.
std::string find_disassembler(const std::string& named) {
  if (!named.empty()) return is_file(named) ? named : "";
  const char* const listed = std::getenv("PATH");
  std::string folders = std::string(listed == nullptr ? "" : listed) + ":/usr/local/cuda/bin:";
  for (std::size_t end = 0; (end = folders.find(':')) != std::string::npos; folders.erase(0, end + 1)) {
    const std::filesystem::path program = std::filesystem::path(folders.substr(0, end)) / kDisassembler;
    if (end > 0 && is_file(program)) return program.string();
  }
  return "";
}

/// A word of a shell command.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string output_of(const std::string& command) {
  const auto close = [](std::FILE* pipe) { (void)::pclose(pipe); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(::popen(command.c_str(), "r"), close);
  std::string text;
  std::array<char, 65536> chunk{};
  while (pipe != nullptr) {
    const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe.get());
    if (got == 0) break;
    text.append(chunk.data(), got);
  }
  return text;
}

}  // namespace

std::string disassemble_this_program(const std::string& disassembler) {
  if (!kernels::built_with_cuda())
    throw HardwareAbsent("machine code",
                         "this natten-sim was built without CUDA (configure with nvcc on PATH)");
  const std::string program = find_disassembler(disassembler);
  if (program.empty()) {
    throw HardwareAbsent("a disassembler", disassembler.empty()
                                               ? "cuobjdump is neither on PATH nor in /usr/local/cuda/bin"
                                               : "there is no file '" + disassembler + "'");
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string text = output_of(quoted(program) + " -sass " + quoted(self) + " 2>/dev/null");
  if (text.find("Function : ") == std::string::npos)
    throw HardwareAbsent("machine code", "'" + program + "' found none in '" + self + "'");
  return text;
}

}  // namespace natten_sim::validate

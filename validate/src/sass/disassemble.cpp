#include <filesystem>
#include <string>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/child_process.hpp>
#include <natten_sim/kernels/gpu/gpu.hpp>
#include <natten_sim/validate/sass/lowering_check.hpp>

namespace natten_sim::validate {
namespace {

constexpr const char* kDisassembler = "cuobjdump";

}  // namespace

std::string disassemble_this_program(const std::string& disassembler) {
  if (!kernels::built_with_cuda())
    throw HardwareAbsent("machine code",
                         "this natten-sim was built without CUDA (configure with nvcc on PATH)");
  const std::string program =
      find_program(disassembler.empty() ? kDisassembler : disassembler, {"/usr/local/cuda/bin"});
  if (program.empty()) {
    throw HardwareAbsent("a disassembler", disassembler.empty()
                                               ? "cuobjdump is neither on PATH nor in /usr/local/cuda/bin"
                                               : "there is no file '" + disassembler + "'");
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string text = output_of_program(program, {"-sass", self}, ChildMessages::kDropped);
  if (text.find("Function : ") == std::string::npos)
    throw HardwareAbsent("machine code", "'" + program + "' found none in '" + self + "'");
  return text;
}

}  // namespace natten_sim::validate

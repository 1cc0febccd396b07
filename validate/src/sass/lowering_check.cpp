#include <algorithm>
#include <array>
#include <cctype>

#include <natten_sim/validate/sass/lowering_check.hpp>

namespace natten_sim::validate {
namespace {

/// Which kernel uses a construct, by a part of its mangled name.
struct KernelOfConstruct {
  const char* construct;
  Dtype type;
  const char* part;
};

constexpr std::array kKernels = {
    KernelOfConstruct{"cuda-atomicadd-float", Dtype::kFp32, "add_piecesINS1_12ScalarUpdateIfE"},
    KernelOfConstruct{"cuda-atomicadd-half", Dtype::kFp16, "add_piecesINS1_12ScalarUpdateI6__halfE"},
    KernelOfConstruct{"cuda-atomicadd-half2", Dtype::kFp16, "probe_cuda_atomicadd_half2"},
    KernelOfConstruct{"cuda-atomicadd-bfloat16", Dtype::kBf16,
                      "add_piecesINS1_12ScalarUpdateI13__nv_bfloat16E"},
    KernelOfConstruct{"cuda-atomicadd-bfloat162", Dtype::kBf16, "probe_cuda_atomicadd_bfloat162"},
    KernelOfConstruct{"ptx-red-relaxed-bf16", Dtype::kBf16, "probe_ptx_red_relaxed_bf16"},
    KernelOfConstruct{"ptx-red-relaxed-bf16x2", Dtype::kBf16,
                      "add_piecesINS1_9RedUpdateI13__nv_bfloat16Li1E"},
    KernelOfConstruct{"ptx-red-relaxed-f16x2", Dtype::kFp16, "add_piecesINS1_9RedUpdateI6__halfLi1E"},
    KernelOfConstruct{"ptx-red-relaxed-v8-bf16", Dtype::kBf16,
                      "add_piecesINS1_9RedUpdateI13__nv_bfloat16Li4E"},
    KernelOfConstruct{"ptx-red-relaxed-v8-f16", Dtype::kFp16, "add_piecesINS1_9RedUpdateI6__halfLi4E"},
    KernelOfConstruct{"ptx-red-relaxed-v4-f32", Dtype::kFp32, "add_piecesINS1_9RedUpdateIfLi4E"}};

bool is_atomic(std::string_view instruction) {
  for (const char* const begin : {"RED.", "REDG.", "ATOM.", "ATOMG."}) {
    if (instruction.starts_with(begin)) return true;
  }
  return false;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The word that is an atomic in a line of machine code: "/*0120*/  @P0 REDG.E.ADD.F32 desc[..] .."
std::string_view atomic_in(std::string_view line) {
  while (!line.empty()) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(" \t;"));
    if (is_atomic(word)) return word;
    line.remove_prefix(std::max<std::size_t>(word.size(), 1));
  }
  return {};
}

/// "sm90" for "\tcode for sm_90a".
std::string architecture_in(std::string_view line) {
  std::string digits;
  for (const char c : line.substr(line.find("sm_") + 3)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) break;
    digits += c;
  }
  return "sm" + digits;
}

std::optional<InstructionPath> path_of(const std::vector<std::string>& atomics) {
  const auto any = [&](std::string_view part) {
    return std::any_of(atomics.begin(), atomics.end(),
                       [&](const std::string& each) { return contains(each, part); });
  };
  if (any(".CAS")) return InstructionPath::kCas;
  if (any("RED")) return InstructionPath::kRed;
  if (any("ATOM")) return InstructionPath::kAtom;
  return std::nullopt;
}

/// Elements that a lane adds: the 8 of "BF16x8".
std::int64_t width_of(std::string_view instruction) {
  const std::size_t type = std::min(instruction.find("F16x"), instruction.find("F32x"));
  return type == std::string_view::npos ? 1 : instruction[type + 4] - '0';
}

/// The instruction up to its type: later parts tell of rounding and scope, and "G" of the address space.
std::string kind_of(std::string_view instruction) {
  std::string kind(instruction);
  for (const char* const space : {"REDG.", "ATOMG."}) {
    if (kind.starts_with(space)) kind.erase(kind.find('G'), 1);
  }
  return kind;
}

bool is_promised(const LoweringCheck& check, const std::string& found) {
  const std::string promised = kind_of(check.promised.instruction), seen = kind_of(found);
  const std::string type = promised.substr(0, promised.find(".RN"));
  return seen.starts_with(type.substr(0, type.find(".STRONG")));
}

void judge(LoweringCheck& check) {
  check.path = path_of(check.found);
  bool instruction = false;
  for (const std::string& each : check.found) {
    if (!is_promised(check, each)) continue;
    instruction = true;
    check.vector_width = width_of(each);
  }
  // A loop of compare-and-swap has words of 32 bits, whatever it adds.
  const bool width =
      check.promised.path == InstructionPath::kCas || check.vector_width == check.promised.vector_width;
  check.verdict = check.path == check.promised.path && instruction && width ? LoweringVerdict::kConfirmed
                                                                            : LoweringVerdict::kWrong;
}

}  // namespace

std::vector<SassKernel> parse_sass(std::string_view text) {
  std::vector<SassKernel> kernels;
  std::string architecture;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    constexpr std::string_view kFunction = "Function : ";
    if (contains(line, "code for sm_")) {
      architecture = architecture_in(line);
    } else if (contains(line, kFunction)) {
      kernels.push_back(
          {architecture, std::string(line.substr(line.find(kFunction) + kFunction.size())), {}});
    } else if (!kernels.empty()) {
      const std::string_view atomic = atomic_in(line);
      std::vector<std::string>& atomics = kernels.back().atomics;
      if (!atomic.empty() && std::find(atomics.begin(), atomics.end(), atomic) == atomics.end())
        atomics.emplace_back(atomic);
    }
  }
  return kernels;
}

std::vector<LoweringCheck> check_lowerings(const std::vector<SassKernel>& kernels,
                                           const std::vector<Lowering>& table) {
  std::vector<LoweringCheck> checks;
  for (const Lowering& row : table) {
    LoweringCheck check;
    check.promised = row;
    for (const KernelOfConstruct& each : kKernels) {
      if (row.construct != each.construct || row.type != each.type) continue;
      const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const SassKernel& kernel) {
        return kernel.architecture == row.architecture && contains(kernel.name, each.part);
      });
      if (found == kernels.end()) continue;
      check.kernel = found->name;
      check.found = found->atomics;
      judge(check);
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace natten_sim::validate

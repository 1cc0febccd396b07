#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/lowering.hpp>
#include <natten_sim/core/names.hpp>

namespace natten_sim::validate {

/// Holds the lowering table against machine code: does each construct become what the table promises?

/// A kernel in a disassembly, with the atomics on global memory that it executes.
struct SassKernel {
  std::string architecture;  ///< "sm80", "sm90"
  std::string name;          ///< mangled
  std::vector<std::string>
      atomics;  ///< "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU", each once, in order of appearance
};

/// Reads what `cuobjdump -sass` prints.
[[nodiscard]] std::vector<SassKernel> parse_sass(std::string_view text);

enum class LoweringVerdict {
  kConfirmed,  ///< path, elements a lane and instruction
  kWrong,
  kNotBuilt  ///< no kernel of this build uses the construct on that architecture
};

/// One row of the table beside what was found.
struct LoweringCheck {
  Lowering promised;
  std::string kernel;              ///< whose machine code was read; empty if not built
  std::vector<std::string> found;  ///< its atomics
  std::optional<InstructionPath> path;
  std::int64_t vector_width = 0;
  LoweringVerdict verdict = LoweringVerdict::kNotBuilt;
};

/// Every row of the table, in its order. A kernel belongs to a construct by its name.
[[nodiscard]] std::vector<LoweringCheck> check_lowerings(const std::vector<SassKernel>& kernels,
                                                         const std::vector<Lowering>& table);

/// The machine code of the running program, by `disassembler`; empty: `cuobjdump` on PATH or of
/// /usr/local/cuda. Takes half a minute. @throws HardwareAbsent with the reason when there is no
/// disassembler, or no machine code in the program.
[[nodiscard]] std::string disassemble_this_program(const std::string& disassembler);

}  // namespace natten_sim::validate

namespace natten_sim {

template <>
struct NamesOf<validate::LoweringVerdict> {
  using Verdict = validate::LoweringVerdict;
  static constexpr const char* kConcept = "verdict";
  static constexpr Name<Verdict> kTable[] = {
      {Verdict::kConfirmed, "confirmed"}, {Verdict::kWrong, "WRONG"}, {Verdict::kNotBuilt, "not built here"}};
};

}  // namespace natten_sim

#include <algorithm>

#include <natten_sim/io/lowering_data.hpp>
#include <natten_sim/validate/sass/lowering_check.hpp>

#include "catch.hpp"

namespace lowering_check_test {

using namespace natten_sim;
using namespace natten_sim::validate;

/// As `cuobjdump -sass` of CUDA 13.0 prints it, shortened.
constexpr const char* kSass = R"(
	code for sm_80
		Function : _ZN1_9add_piecesINS1_12ScalarUpdateIfEEEEvPKNT_4TypeE
        /*00a0*/                   RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2.64], R5 ;   /* 0x0000000502007386 */

	code for sm_90a
		Function : _ZN1_9add_piecesINS1_12ScalarUpdateI13__nv_bfloat16EEEEvPKNT_4TypeE
        /*0120*/                   LDG.E R9, desc[UR4][R2.64] ;
        /*0150*/                   ATOM.E.CAS.STRONG.GPU PT, R9, [R2], R8, R9 ;
        /*0190*/                   ATOM.E.CAS.STRONG.GPU PT, R9, [R2], R8, R9 ;
		Function : _ZN1_9add_piecesINS1_9RedUpdateI13__nv_bfloat16Li4EEEEEvPKNT_4TypeE
        /*0210*/              @!P0 REDG.E.ADD.BF16x8.RN.STRONG.GPU desc[UR4][R2.64], R4 ;
		Function : probe_cuda_atomicadd_bfloat162
        /*0080*/                   ATOMS.CAST.SPIN P0, [R3], R4, R5 ;
        /*0090*/                   ATOM.E.ADD.BF16x2.RN.STRONG.GPU P1, RZ, [R2], R5 ;
		Function : probe_ptx_red_relaxed_bf16
        /*0090*/                   REDG.E.ADD.BF16.RN.STRONG.GPU desc[UR4][R2.64], R4 ;
)";

LoweringCheck check_of(const std::string& construct, const std::string& architecture, Dtype type) {
  for (const LoweringCheck& each : check_lowerings(parse_sass(kSass), builtin_lowerings())) {
    const Lowering& row = each.promised;
    if (row.construct == construct && row.architecture == architecture && row.type == type) return each;
  }
  FAIL("no such row: " << construct);
  return {};
}

TEST_CASE("a disassembly is read into kernels with their global atomics, each once") {
  const std::vector<SassKernel> kernels = parse_sass(kSass);
  REQUIRE(kernels.size() == 5);
  CHECK(kernels[0].architecture == "sm80");
  CHECK(kernels[0].atomics == std::vector<std::string>{"RED.E.ADD.F32.FTZ.RN.STRONG.GPU"});
  CHECK(kernels[1].architecture == "sm90");
  CHECK(kernels[1].atomics == std::vector<std::string>{"ATOM.E.CAS.STRONG.GPU"});
  CHECK(kernels[2].atomics == std::vector<std::string>{"REDG.E.ADD.BF16x8.RN.STRONG.GPU"});
  // Atomics on shared memory are not meant.
  CHECK(kernels[3].atomics == std::vector<std::string>{"ATOM.E.ADD.BF16x2.RN.STRONG.GPU"});
  CHECK(parse_sass("").empty());
}

TEST_CASE("a construct that became what the table promises is confirmed") {
  CHECK(check_of("cuda-atomicadd-float", "sm80", Dtype::kFp32).verdict == LoweringVerdict::kConfirmed);
  const LoweringCheck loop = check_of("cuda-atomicadd-bfloat16", "sm90", Dtype::kBf16);
  CHECK(loop.verdict == LoweringVerdict::kConfirmed);
  CHECK(loop.path == InstructionPath::kCas);
  const LoweringCheck vector = check_of("ptx-red-relaxed-v8-bf16", "sm90", Dtype::kBf16);
  CHECK(vector.verdict == LoweringVerdict::kConfirmed);
  CHECK(vector.vector_width == 8);
  CHECK(check_of("cuda-atomicadd-bfloat162", "sm90", Dtype::kBf16).verdict == LoweringVerdict::kConfirmed);
}

TEST_CASE("a construct that became another path is wrong, one without a kernel is not judged") {
  // The table promises a loop of compare-and-swap here.
  const LoweringCheck other = check_of("ptx-red-relaxed-bf16", "sm90", Dtype::kBf16);
  CHECK(other.verdict == LoweringVerdict::kWrong);
  CHECK(other.path == InstructionPath::kRed);
  CHECK(check_of("cuda-atomicadd-float", "sm90", Dtype::kFp32).verdict == LoweringVerdict::kNotBuilt);
  CHECK(check_of("torch-scatter-add", "sm90", Dtype::kBf16).verdict == LoweringVerdict::kNotBuilt);
}

TEST_CASE("the same path with fewer elements a lane is wrong") {
  std::string text = kSass;
  const std::size_t at = text.find("BF16x8");
  text.replace(at, 6, "BF16x4");
  const auto checks = check_lowerings(parse_sass(text), builtin_lowerings());
  const auto found = std::find_if(checks.begin(), checks.end(), [](const LoweringCheck& each) {
    return each.promised.construct == "ptx-red-relaxed-v8-bf16";
  });
  REQUIRE(found != checks.end());
  CHECK(found->verdict == LoweringVerdict::kWrong);
}

}  // namespace lowering_check_test

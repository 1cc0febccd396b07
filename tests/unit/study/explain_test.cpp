// study::explain: what names and grids tell, what the counter of sectors settles, and where reads go. Names
// are those that profilers show; counters were measured on an H200 (tests/golden/ncu/attention-h200.csv).
#include <algorithm>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/explain.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace explain_test {

using namespace natten_sim;
using namespace natten_sim::study;
using natten_sim::test::shared_context;

ProfiledKernel launched(const std::string& name, std::array<std::int64_t, 3> grid, std::int64_t threads,
                        std::optional<double> sectors = {}) {
  ProfiledKernel launch{.name = name, .grid = grid, .block = {threads, 1, 1}};
  launch.gpu = "NVIDIA H200";
  launch.l2_read_sectors = sectors;
  return launch;
}

ExplainAnswer explained(const ProfiledKernel& launch, const ExplainedProblem& given = {}) {
  return explain({.launches = {launch}, .device = {}, .given = given}, shared_context());
}

/// FlashAttention-2 of head dim 128 and 64, as PyTorch has it.
std::string fa2_name(bool causal, bool even) {
  return "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)128, (int)64, (int)4, "
         "(bool)0, (bool)0, cutlass::bfloat16_t, Flash_kernel_traits<(int)128, (int)128, (int)64, (int)4, "
         "cutlass::bfloat16_t>>, (bool)0, (bool)" +
         std::to_string(causal) + ", (bool)0, (bool)0, (bool)" + std::to_string(even) +
         ", (bool)1, (bool)0, (bool)0>(pytorch_flash::Flash_fwd_params)";
}

const std::string kCudnn =
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_cga1x1x1_kernel0_0";

/// How a member of the only kernel is known; none: it is not.
std::optional<KnownFrom> known(const ExplainAnswer& answer, const std::string& member) {
  for (const KnownMember& each : answer.kernels.front().known) {
    if (each.member == member) return each.from;
  }
  return std::nullopt;
}

TEST_CASE("explain: FlashAttention-2 says everything in its name and grid") {
  const ExplainAnswer answer = explained(launched(fa2_name(false, true), {512, 2, 3}, 128));
  REQUIRE(answer.kernels.size() == 1);
  const ExplainedKernel& kernel = answer.kernels.front();
  CHECK(kernel.family == "fa2");
  CHECK(kernel.problem.q_tile == 128);
  CHECK(kernel.problem.kv_tile == 64);
  CHECK(kernel.problem.head_dim == 128);
  CHECK(kernel.problem.causal == false);
  CHECK(kernel.problem.seqlen == 512 * 128);
  CHECK(kernel.problem.batch == 2);
  CHECK(kernel.problem.heads == 3);
  CHECK(kernel.problem.order == KvOrder::kDescending);
  CHECK(kernel.missing.empty());
  CHECK(known(answer, "q-tile") == KnownFrom::kName);
  CHECK(known(answer, "heads") == KnownFrom::kGrid);
  CHECK(answer.device == "h200");
  // K, V and Q once; 2 bytes an element.
  REQUIRE(kernel.read);
  CHECK(kernel.read->compulsory_bytes == 3.0 * 65536 * 128 * 2 * 6);
}

TEST_CASE("explain: a cut last tile leaves the length open, and the counter of sectors settles it") {
  // 125 Q tiles of 128 of 15,950 tokens: K and V of 8 sectors a row for each tile, and Q once.
  const double sectors = 125.0 * 15950 * 16 + 15950 * 8;
  const ExplainAnswer answer = explained(launched(fa2_name(false, false), {125, 1, 1}, 128, sectors));
  CHECK(answer.kernels.front().problem.seqlen == 15950);
  CHECK(known(answer, "seqlen") == KnownFrom::kSectors);
  const ExplainAnswer open = explained(launched(fa2_name(false, false), {125, 1, 1}, 128));
  CHECK(open.kernels.front().problem.seqlen == 16000);
  CHECK(known(open, "seqlen") == KnownFrom::kAssumed);
  const ExplainAnswer given =
      explained(launched(fa2_name(false, false), {125, 1, 1}, 128), {.seqlen = 15900});
  CHECK(given.kernels.front().problem.seqlen == 15900);
}

TEST_CASE("explain: keys that are not as many as queries follow from the sectors") {
  // 8 Q tiles of 128, 5,000 keys.
  const double sectors = 8.0 * 5000 * 16 + 1024 * 8;
  const ExplainAnswer answer = explained(launched(fa2_name(false, true), {8, 1, 1}, 128, sectors));
  CHECK(answer.kernels.front().problem.seqlen_k == 5000);
  CHECK(known(answer, "seqlen-k") == KnownFrom::kSectors);
  CHECK(answer.kernels.front().read->compulsory_bytes == (2 * 5000 + 1024) * 128 * 2);
}

TEST_CASE("explain: cuDNN's grid tells no length, and with it sectors tell mask and heads") {
  const ProfiledKernel open = launched(kCudnn, {132, 1, 1}, 384, 1075840132.0);
  CHECK(explained(open).kernels.front().missing == std::vector<std::string>{"seqlen"});
  CHECK(explained(launched(kCudnn, {132, 1, 1}, 384)).kernels.front().missing ==
        std::vector<std::string>{"seqlen", "heads"});
  CHECK_FALSE(explained(open).kernels.front().read);
  // Measured: 131,072 tokens, causal, one head. Two consumer warpgroups have 64 rows each.
  const ExplainAnswer answer = explained(open, {.seqlen = 131072});
  const ExplainedKernel& kernel = answer.kernels.front();
  CHECK(kernel.problem.q_tile == 128);
  CHECK(kernel.problem.causal == true);
  CHECK(kernel.problem.heads == 1);
  CHECK(known(answer, "causal") == KnownFrom::kSectors);
  CHECK(known(answer, "heads") == KnownFrom::kSectors);
}

TEST_CASE("explain: FlashAttention-3's name has tiles, mask and scheduler") {
  const auto name = [](const std::string& causal, const std::string& scheduler) {
    return "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<"
           "flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, "
           "cute::tuple<cute::C<128>, cute::C<176>, cute::C<128> >, 128, cutlass::bfloat16_t, float, "
           "cutlass::arch::Sm90, " +
           causal +
           ", false, false, false, false, false, false, false, true, true, true, false, false, "
           "cutlass::bfloat16_t, false, 1>, flash::CollectiveEpilogueFwd<cute::tuple<cute::C<128>, "
           "cute::C<128>, cute::C<176> >, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, "
           "cutlass::bfloat16_t, cutlass::arch::Sm90, 256, false, true, false, false>, flash::" +
           scheduler + "<false> > > >";
  };
  const ExplainAnswer full =
      explained(launched(name("false", "StaticPersistentTileScheduler"), {132, 1, 1}, 384));
  CHECK(full.kernels.front().family == "fa3");
  CHECK(full.kernels.front().problem.q_tile == 128);
  CHECK(full.kernels.front().problem.kv_tile == 176);
  CHECK(full.kernels.front().problem.schedule == CtaSchedule::kPersistent);
  CHECK(full.kernels.front().missing == std::vector<std::string>{"seqlen", "heads"});
  const ExplainAnswer causal =
      explained(launched(name("true", "DynamicPersistentTileScheduler"), {132, 1, 1}, 384),
                {.seqlen = 8192, .heads = 2});
  CHECK(causal.kernels.front().problem.causal == true);
  CHECK(causal.kernels.front().problem.longest_first == true);
  CHECK(causal.kernels.front().problem.schedule == CtaSchedule::kGrid);
  REQUIRE(causal.kernels.front().read);
}

TEST_CASE("explain: FlashAttention-4, with and without readable labels") {
  const std::string bare =
      "kernel_cutlass_kernel_flash_attncuteflash_fwd_sm90FlashAttentionForwardSm90_object_at__"
      "tensorptrbf16gmem_0";
  const ExplainAnswer asked = explained(launched(bare, {512, 1, 1}, 384), {.seqlen = 4096, .heads = 1});
  CHECK(asked.kernels.front().family == "fa4");
  CHECK(asked.kernels.front().missing == std::vector<std::string>{"dim", "q-tile", "kv-tile"});
  const ExplainAnswer told = explained(
      launched("flash_fwd_sm100_bf16_head_dim128_tile128x64_threads384_causal_" + bare, {512, 1, 1}, 384),
      {.seqlen = 4096, .heads = 1});
  const ExplainedProblem& problem = told.kernels.front().problem;
  CHECK(problem.head_dim == 128);
  CHECK(problem.q_tile == 128);
  CHECK(problem.kv_tile == 64);
  CHECK(problem.causal == true);
  CHECK(problem.dtype == Dtype::kBf16);
}

TEST_CASE("explain: Triton's kernels have a grid but no tiles, and the length makes the Q tile") {
  const ProfiledKernel flex = launched("triton_tem_fused_flex_attention_0", {256, 1, 2}, 256);
  const ExplainAnswer asked = explained(flex);
  CHECK(asked.kernels.front().family == "flexattention");
  CHECK(asked.kernels.front().missing == std::vector<std::string>{"seqlen", "dim", "q-tile", "kv-tile"});
  const ExplainAnswer answer = explained(flex, {.seqlen = 32768, .head_dim = 128, .kv_tile = 64});
  CHECK(answer.kernels.front().problem.q_tile == 128);
  CHECK(known(answer, "q-tile") == KnownFrom::kGrid);
  CHECK(answer.kernels.front().problem.heads == 2);
  CHECK(explained(launched("_attn_fwd", {64, 32, 1}, 128)).kernels.front().family == "triton");
}

TEST_CASE("explain: NATTEN's kernels, ours, backward passes and split keys are named, with what is open") {
  const auto one = [](const std::string& name) {
    return explained(launched(name, {8, 1, 1}, 128)).kernels.at(0);
  };
  const ExplainedKernel hopper = one(
      "void "
      "cutlass::device_kernel<cutlass::fna::kernel::FnaKernelTmaWarpSpecialized<cutlass::fna::collective::"
      "FnaMainloopTmaWarpSpecializedSm90<cute::C<3>, cute::tuple<cute::C<2>, cute::C<8>, cute::C<8>>, "
      "cute::tuple<cute::C<4>, cute::C<4>, cute::C<8>>, cutlass::bfloat16_t, float>, "
      "cutlass::fna::kernel::PersistentTileScheduler>>");
  CHECK(hopper.family == "hopper-fna");
  CHECK(hopper.problem.q_tile == 2 * 8 * 8);
  CHECK(hopper.problem.kv_tile == 4 * 4 * 8);
  CHECK(hopper.problem.schedule == CtaSchedule::kPersistent);
  CHECK(hopper.unmodelled);
  const ExplainedKernel cutlass = one("natten::cuda::fna::fna3d_64x128x128_sm80_bfloat16_cm_0_0_0(Params)");
  CHECK(cutlass.family == "cutlass-fna");
  CHECK(cutlass.problem.q_tile == 64);
  CHECK(cutlass.problem.kv_tile == 128);
  CHECK(one("void attention_kernel<__nv_bfloat16, 128, 64, 32, 4, 2, 2>(AttentionArguments)").family ==
        "ours");
  CHECK(one("void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128>>").family ==
        "backward");
  CHECK(one("void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, 0, 0, "
            "cutlass::bfloat16_t, Flash_kernel_traits<128, 64, 128, 4, cutlass::bfloat16_t>>, 0, 0, 0, 1, 1, "
            "0, 1, "
            "0>(pytorch_flash::Flash_fwd_params)")
            .unmodelled);
}

TEST_CASE("explain: other kernels are counted, launches of one kernel and grid are one with the median") {
  ExplainQuestion question;
  for (const double bytes : {84e6, 85e6, 99e6}) {
    question.launches.push_back(launched(fa2_name(false, true), {16, 1, 1}, 128));
    question.launches.back().dram_read_bytes = bytes;
  }
  question.launches.push_back(
      launched("void at::native::distribution_elementwise_grid_stride_kernel<float>", {1, 1, 1}, 256));
  const ExplainAnswer answer = explain(question, shared_context());
  REQUIRE(answer.kernels.size() == 1);
  CHECK(answer.kernels.front().launches == 3);
  CHECK(answer.kernels.front().launch.dram_read_bytes == 85e6);
  CHECK(answer.other_launches == 1);
}

TEST_CASE(
    "explain: measured reads are the sum of their parts, and causal FlashAttention-2 should begin with its "
    "longest rows") {
  // Measured on an H200: 131,072 tokens, causal, 7.9 GB read, 96 MiB compulsory.
  ProfiledKernel launch = launched(fa2_name(true, true), {1024, 1, 1}, 128, 1075841988.0);
  launch.dram_read_bytes = 7907946000.0;
  launch.time_ns = 13.6e6;
  launch.ctas_per_sm = 2;
  const ExplainAnswer answer = explained(launch);
  const ExplainedReads read = answer.kernels.front().read.value();
  CHECK(read.compulsory_bytes + read.lockstep_bytes + read.drift_bytes + *read.unexplained_bytes ==
        Approx(*read.measured_bytes));
  // Near the onset only the explosion itself is told: 82 times the compulsory bytes were measured.
  CHECK(read.predicted_bytes() > 50 * read.compulsory_bytes);
  REQUIRE(!answer.kernels.front().changes.empty());
  CHECK(answer.kernels.front().changes.front().longest_first == true);
  CHECK(answer.kernels.front().changes.front().saved_share > 0.9);
  CHECK(answer.kernels.front().predicted_sectors.value() == Approx(1075841988.0).epsilon(1e-5));
}

TEST_CASE("explain: what is read less than once tells how many heads share K and V") {
  // Measured on an H200: 16,000 tokens, 8 heads, 2 KV heads. Q has 31.25 MiB, a KV head 7.81 MiB.
  ProfiledKernel launch = launched(fa2_name(false, true), {125, 1, 8}, 128, 257029312.0);
  launch.dram_read_bytes = 54834000.0;
  const ExplainAnswer answer = explained(launch);
  CHECK(answer.kernels.front().problem.heads_kv == 2);
  CHECK(known(answer, "heads-kv") == KnownFrom::kReads);
  launch.dram_read_bytes = 120e6;
  CHECK(explained(launch).kernels.front().problem.heads_kv == 8);
}

TEST_CASE("explain: PyTorch's memory-efficient kernel loads Q for each KV tile, as its sectors say") {
  // Measured on an H200: 32,768 tokens, one head, full: 512 Q tiles of K and V, and Q for 256 KV tiles.
  const double sectors = 512.0 * 32768 * 16 + 256.0 * 32768 * 8;
  CHECK(sectors == 335544320.0);
  ProfiledKernel launch = launched(
      "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t,"
      " "
      "cutlass::Sm80, 1, 64, 128, 128, 1, 1>::Params)",
      {512, 1, 1}, 32, sectors);
  const ExplainAnswer answer = explained(launch);
  CHECK(answer.kernels.front().family == "efficient");
  CHECK(answer.kernels.front().problem.seqlen == 32768);
  CHECK_FALSE(answer.kernels.front().problem.seqlen_k);
  CHECK(answer.kernels.front().problem.causal == false);
  CHECK(known(answer, "causal") == KnownFrom::kSectors);
  CHECK(answer.kernels.front().predicted_sectors == sectors);
}

TEST_CASE("explain: a launch on an unknown GPU asks for the device, a bad option is refused") {
  ProfiledKernel launch = launched(fa2_name(false, true), {16, 1, 1}, 128);
  launch.gpu = "Some GPU";
  CHECK(explained(launch).kernels.front().missing == std::vector<std::string>{"device"});
  CHECK_THROWS_AS(explained(launch, {.seqlen = 0}), InvalidParameter);
  ExplainQuestion question{.launches = {launch}, .device = "h20o", .given = {}};
  CHECK_THROWS_AS(explain(question, shared_context()), UnknownName);
}

TEST_CASE("explain: a name that is cut or mangled still tells the family, whose grid tells batch and heads") {
  for (const char* name : {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)1",
                           "_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi128E"}) {
    const ExplainAnswer answer = explained(launched(name, {512, 2, 3}, 128), {.q_tile = 128, .kv_tile = 64});
    REQUIRE(answer.kernels.size() == 1);
    CHECK(answer.kernels.front().family == "fa2");
    CHECK(answer.kernels.front().problem.batch == 2);
    CHECK(answer.kernels.front().problem.heads == 3);
    CHECK(answer.kernels.front().problem.order == KvOrder::kDescending);
    CHECK(answer.kernels.front().missing == std::vector<std::string>{"dim"});
  }
}

TEST_CASE("explain: FlashInfer's traits have tiles in rows of instructions, its grid Q tiles and KV heads") {
  const std::string name =
      "void flashinfer::SinglePrefillWithKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, "
      "(unsigned int)128, (unsigned int)2, (unsigned int)4, (unsigned int)8, (unsigned int)8, (unsigned "
      "int)4, "
      "(unsigned int)1, (flashinfer::PosEncodingMode)0, __nv_bfloat16, __nv_bfloat16>, Params>(T2)";
  const ExplainedKernel kernel = explained(launched(name, {64, 1, 8}, 128)).kernels.at(0);
  CHECK(kernel.family == "flashinfer");
  CHECK(kernel.problem.q_tile == 128);
  CHECK(kernel.problem.kv_tile == 64);    // 4 instructions of 16 rows, one warp over KV
  CHECK(kernel.problem.head_dim == 128);  // 8 of 16
  CHECK(kernel.problem.causal == true);
  CHECK(kernel.problem.heads == 8);
  CHECK(explained(launched(name, {64, 4, 8}, 128)).kernels.at(0).unmodelled.has_value());
  CHECK(explained(launched("flashinfer::BatchPrefillWithPagedKVCacheKernel<T>", {1, 1, 1}, 128))
            .kernels.at(0)
            .unmodelled.has_value());
}

TEST_CASE("explain: SageAttention, FlashAttention-1 and xFormers' parts are known by name") {
  const std::string sage =
      "void qk_int_sv_f8_attn_kernel<(unsigned int)128, (unsigned int)64, (unsigned int)32, (unsigned "
      "int)64, "
      "(unsigned int)128, (DataType)1, (QuantGranularity)2>(signed char*)";
  const ExplainedKernel kernel = explained(launched(sage, {16, 24, 2}, 128)).kernels.at(0);
  CHECK(kernel.family == "sageattention");
  CHECK(kernel.problem.q_tile == 128);
  CHECK(kernel.problem.kv_tile == 64);
  CHECK(kernel.problem.head_dim == 128);
  CHECK(kernel.problem.heads == 24);
  CHECK(kernel.problem.batch == 2);
  CHECK_FALSE(kernel.unmodelled);
  std::string two_bytes = sage;
  two_bytes.replace(two_bytes.find("sv_f8"), 5, "sv_f16");
  CHECK(explained(launched(two_bytes, {16, 24, 2}, 128)).kernels.at(0).unmodelled.has_value());
  const ExplainedKernel first =
      explained(
          launched("void fmha_fwd_loop_kernel<FMHA_kernel_traits<(int)256, (int)64, (int)16, (int)1, (int)4, "
                   "(unsigned int)8>, (bool)0, (bool)0>(FMHA_fprop_params)",
                   {2, 8, 1}, 128))
          .kernels.at(0);
  CHECK(first.family == "fa1");
  CHECK(first.problem.kv_tile == 256);
  CHECK(first.problem.head_dim == 64);
  CHECK(first.unmodelled.has_value());
  CHECK(explained(launched("_fwd_kernel_splitK", {1, 1, 1}, 128)).kernels.at(0).family == "xformers-splits");
  CHECK(explained(launched("_attn_fwd_tma", {64, 8, 1}, 128)).kernels.at(0).family == "triton");
}

TEST_CASE("explain: what another walk saves is told against what was measured") {
  // Measured on an H200: 131,072 tokens, causal, 7.9 GB read, 96 MiB compulsory.
  ProfiledKernel launch = launched(fa2_name(true, true), {1024, 1, 1}, 128, 1075841988.0);
  launch.dram_read_bytes = 7907946000.0;
  launch.time_ns = 13.6e6;
  launch.ctas_per_sm = 2;
  const ExplainedKernel kernel = explained(launch).kernels.at(0);
  REQUIRE(!kernel.changes.empty());
  for (const ExplainedChange& change : kernel.changes) {
    CHECK(change.expected_bytes ==
          Approx(std::max(kernel.read->compulsory_bytes, 7907946000.0 * (1 - change.saved_share))));
    CHECK(change.expected_bytes < 7907946000.0);
  }
}

}  // namespace explain_test

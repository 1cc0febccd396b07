// The backward kernels of data/backward-kernels/: tiles, launches and what each refuses, as their sources
// have them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/study/kernel_schedule.hpp>
#include <natten_sim/study/schedule_parts.hpp>

#include "catch.hpp"

namespace backward_kernels_test {

using namespace natten_sim;

const Catalog& catalog() {
  static const study::Context context = study::default_context();
  return context.catalog;
}

const BackwardKernel& kernel_on(const std::string& name, const std::string& device) {
  return catalog().backward_kernel(name, catalog().device(device));
}

/// Q, dO and the fp32 dQ of one head: 128 * (2 * 2 + 4) = 1,024 bytes a token.
BackwardCall call_of(std::int64_t tokens, std::int64_t heads, MaskClass mask, std::int64_t batch = 2) {
  BackwardCall call;
  call.mask = mask;
  call.batch = batch;
  call.heads = call.heads_kv = heads;
  call.q_tokens = call.kv_tokens = tokens;
  call.sms = 132;
  return call;
}

BackwardLaunch launch(const std::string& kernel, MaskClass mask, ReductionMode mode,
                      std::int64_t tokens = 1024) {
  return kernel_launch(kernel_on(kernel, "h100"), call_of(tokens, 8, mask), mode).value();
}

study::KernelScheduleQuestion question_of(const std::string& kernel, const std::string& device) {
  study::KernelScheduleQuestion question;
  question.kernel = kernel;
  question.device = device;
  question.q_tokens = 4096;
  question.heads = 16;
  return question;
}

/// What the refusal of a question says is accepted.
std::string accepted_of(const study::KernelScheduleQuestion& question) {
  try {
    (void)study::kernel_schedule(question, study::default_context());
  } catch (const InvalidParameter& error) {
    return error.parameter() + ": " + error.accepted();
  }
  return "answered";
}

TEST_CASE("tiles of backward kernels change exactly where their sources say") {
  using Tiles = std::pair<std::int64_t, std::int64_t>;  // Q, KV
  struct Edge {
    std::int64_t up_to;
    Tiles full, masked;
  };
  struct Source {
    std::string kernel, device;
    std::vector<Edge> edges;
  };
  // FlashAttention-2: flash_bwd_launch_template.h. 3: the launchers of hdim 64, 96, 128, 192, 256.
  // 4: _tile_size_bwd_sm90 of its interface.py, and for sm_100 128x128 throughout.
  const std::vector<Source> sources = {
      {"fa2", "h100", {{64, {128, 128}, {128, 128}}, {128, {64, 128}, {64, 128}}, {256, {64, 64}, {64, 64}}}},
      {"fa3",
       "h100",
       {{64, {128, 128}, {128, 128}},
        {96, {64, 128}, {64, 128}},
        {128, {80, 128}, {64, 128}},
        {192, {64, 96}, {64, 96}},
        {256, {64, 80}, {64, 80}}}},
      {"fa4",
       "h200",
       {{64, {128, 128}, {128, 128}},
        {96, {64, 128}, {64, 128}},
        {128, {80, 128}, {64, 128}},
        {192, {64, 96}, {64, 96}},
        {256, {64, 48}, {64, 48}}}},
      {"fa4", "b200", {{128, {128, 128}, {128, 128}}}},
      {"cudnn", "h200", {{128, {64, 64}, {64, 64}}}},
      {"ours", "h200", {{64, {128, 128}, {128, 128}}, {128, {64, 128}, {64, 128}}}},
  };
  for (const auto& [name, device, edges] : sources) {
    const BackwardKernel& kernel = kernel_on(name, device);
    std::int64_t from = 1;
    for (const Edge& edge : edges) {
      for (const std::int64_t head_dim : {from, edge.up_to}) {
        for (const MaskClass mask : {MaskClass::kFull, MaskClass::kCausal, MaskClass::kWindow}) {
          const KernelTiles* tiles = kernel.tiles_of(head_dim, mask);
          INFO(name << " on " << device << ", head dim " << head_dim);
          REQUIRE(tiles != nullptr);
          CHECK(Tiles(tiles->tokens.q, tiles->tokens.kv) ==
                (mask == MaskClass::kFull ? edge.full : edge.masked));
        }
      }
      from = edge.up_to + 1;
    }
    CHECK(kernel.tiles_of(from, MaskClass::kFull) == nullptr);
  }
}

TEST_CASE("FlashAttention-4 on Blackwell pairs CTAs at head dim 128 and passes turns on late") {
  study::KernelScheduleQuestion question = question_of("fa4", "b200");
  study::KernelScheduleAnswer answer = study::kernel_schedule(question, study::default_context());
  CHECK(answer.kernel.title == "FlashAttention-4 on Blackwell");
  CHECK(answer.ctas_per_tile == 2);
  CHECK(answer.workers == 148 / 2);
  CHECK(answer.tiles.q == 128);
  CHECK(answer.tiles.kv == 128);
  CHECK(answer.kernel.turn_release == TurnRelease::kAfterNext);
  CHECK_FALSE(answer.missing.empty());
  question.head_dim = 64;
  answer = study::kernel_schedule(question, study::default_context());
  CHECK(answer.ctas_per_tile == 1);
  CHECK(answer.workers == 148);
  // On Hopper each CTA has tiles of its own, a turn is passed on at once, and dK comes before dV.
  answer = study::kernel_schedule(question_of("fa4", "h200"), study::default_context());
  CHECK(answer.ctas_per_tile == 1);
  CHECK(answer.kernel.turn_release == TurnRelease::kAtOnce);
  CHECK(answer.kernel.dkv_order.starts_with("dK, then dV"));
  CHECK(kernel_on("fa4", "b200").dkv_order.starts_with("dV, then dK"));
}

TEST_CASE("a kernel of other architectures is refused with those it has, and the kernels that run there") {
  CHECK(accepted_of(question_of("fa3", "b200")) ==
        "kernel: a device of sm90; on sm100 there are fa2, fa4, natten");
  CHECK(accepted_of(question_of("ours", "b200")) ==
        "kernel: a device of sm90; on sm100 there are fa2, fa4, natten");
  CHECK(accepted_of(question_of("fa4", "a100")) ==
        "kernel: a device of sm90, sm100, sm103, sm110; on sm80 there are fa2");
}

TEST_CASE("a release that there is not is refused with those that there are") {
  CHECK(kernel_on("fa4@4.0.0b36", "h200").title == "FlashAttention-4 on Hopper");
  try {
    (void)kernel_on("fa4@4.0.0b35", "h200");
    FAIL("an unknown release was found");
  } catch (const UnknownName& error) {
    CHECK(error.accepted() == "fa4@4.0.0b36");
  }
  try {
    (void)kernel_on("fa5", "h200");
    FAIL("an unknown kernel was found");
  } catch (const UnknownName& error) {
    CHECK(error.accepted() == "fa2, fa3, fa4, cudnn, natten, ours");
  }
}

TEST_CASE("a mask that no kernel takes is refused before the sizes that are missing") {
  study::ScheduleParts parts;
  parts.kernel = "fa4";
  parts.device = "h200";
  parts.question.mask = {VarlenMask{.sequences = {{1024, 1024}, {512, 512}}}};
  try {
    (void)study::kernel_question_of(parts);
    FAIL("a mask of several sequences was taken");
  } catch (const InvalidParameter& error) {
    CHECK(error.parameter() == "mask");
    CHECK(error.accepted().starts_with("full, causal or a window"));
    CHECK(error.accepted().find("any mask runs") != std::string::npos);
  }
}

TEST_CASE("element types and head dims that a kernel does not have are refused with those it has") {
  for (const Dtype dtype : {Dtype::kE4m3, Dtype::kFp32}) {
    study::KernelScheduleQuestion question = question_of("fa4", "h200");
    question.dtype = dtype;
    CHECK(accepted_of(question) == "dtype: fp16, bf16: the element types of fa4@4.0.0b36");
  }
  study::KernelScheduleQuestion question = question_of("fa4", "b200");
  question.head_dim = 160;
  CHECK(accepted_of(question) == "dim: 1 to 128: the head dims of fa4@4.0.0b36 on sm100, sm103, sm110");
  question = question_of("natten", "h200");
  question.head_dim = 96;
  CHECK(accepted_of(question) == "dim: 32, 64, 128: the head dims of natten@0.21.7 on sm90");
  question.head_dim = 64;
  question.mask = {CausalMask{}};
  CHECK(accepted_of(question) == "mask: full: the mask of natten@0.21.7");
}

TEST_CASE("NATTEN has releases 0.21.7 and 0.21.6, the newer by itself") {
  for (const char* device : {"h200", "b200"}) {
    CHECK(kernel_on("natten", device).release == "0.21.7");
    CHECK(kernel_on("natten@0.21.7", device).release == "0.21.7");
    CHECK(kernel_on("natten@0.21.6", device).release == "0.21.6");
  }
}

TEST_CASE("hopper-fmha has no deterministic launch, nor FlashAttention-3 at head dim 256, and blackwell-fmha takes turns") {
  for (const char* release : {"natten@0.21.7", "natten@0.21.6"}) {
    CHECK_FALSE(study::kernel_schedule(question_of(release, "h200"), study::default_context()).ordered);
    // compute_expected_turn() of NATTEN's blackwell kernel: the number of the KV tile, without a mask.
    const study::KernelScheduleAnswer blackwell =
        study::kernel_schedule(question_of(release, "b200"), study::default_context());
    REQUIRE(blackwell.ordered);
    CHECK(blackwell.ordered->algorithm == "ascending");
    CHECK(blackwell.unordered.algorithm == "unordered");
  }
  study::KernelScheduleQuestion question = question_of("fa3", "h100");
  question.head_dim = 192;
  CHECK(study::kernel_schedule(question, study::default_context()).ordered);
  question.head_dim = 193;
  CHECK_FALSE(study::kernel_schedule(question, study::default_context()).ordered);
}

TEST_CASE("cuDNN stores dP where it fits into 256 MiB, and takes turns where it does not") {
  // 2 batches of 8 heads: 16 * S * S * 2 bytes are 2^28 at S = 2,896.3.
  const BackwardKernel& cudnn = kernel_on("cudnn", "h200");
  const auto ordered = [&](std::int64_t tokens) {
    return kernel_launch(cudnn, call_of(tokens, 8, MaskClass::kCausal), ReductionMode::kDeterministic).value();
  };
  CHECK(ordered(2896).algorithm == "two-pass");
  CHECK(ordered(2896).workspace_bytes == std::int64_t{16} * 2896 * 2896 * 2);
  CHECK(ordered(2897).algorithm == "ascending");
  // The fp32 dQ and a counter of four bytes for each of its ceil(2897 / 64) = 46 tiles.
  CHECK(ordered(2897).workspace_bytes == std::int64_t{16} * (2897 * 128 * 4 + 46 * 4));
}

TEST_CASE("kernels launch in the order of their sources") {
  using Mode = ReductionMode;
  // FlashAttention-3: 40 MiB of L2, sections for causal masks in both modes; 4: 50 MiB, when deterministic
  // alone.
  for (const MaskClass mask : {MaskClass::kFull, MaskClass::kCausal, MaskClass::kWindow}) {
    const bool full = mask == MaskClass::kFull;
    for (const char* kernel : {"fa3", "fa4"}) {
      const bool third = std::string(kernel) == "fa3";
      CAPTURE(kernel, full);
      const BackwardLaunch ordered = launch(kernel, mask, Mode::kDeterministic);
      CHECK(ordered.algorithm == (full ? "ascending" : "spt"));
      CHECK(ordered.dq_order == (full ? "ascending KV tile" : "descending KV tile"));
      CHECK(ordered.sections.heads_per_section == (full && third ? 1 : 32));
      const BackwardLaunch unordered = launch(kernel, mask, Mode::kUnordered);
      CHECK(unordered.algorithm == "unordered");
      CHECK(unordered.dq_order == "none");
      CHECK(unordered.sections.heads_per_section == (!full && third ? 32 : 1));
      CHECK(ordered.dispatch == Dispatch::kDynamic);
      CHECK_FALSE(ordered.heads_in_flight);
    }
  }
  CHECK(launch("fa3", MaskClass::kCausal, Mode::kDeterministic).launch_order ==
        "sections of 32 heads, heads fastest, KV tiles descending");
  CHECK(launch("fa3", MaskClass::kCausal, Mode::kUnordered).launch_order ==
        "sections of 32 heads, heads fastest, KV tiles ascending");
  CHECK(launch("fa4", MaskClass::kFull, Mode::kDeterministic).launch_order ==
        "sections of 32 heads, heads fastest, KV tiles ascending");
  // 24 MiB a head: FlashAttention-4's 50 MiB hold two, 40 MiB one.
  CHECK(launch("fa4", MaskClass::kCausal, Mode::kDeterministic, 24 * 1024).sections.heads_per_section == 2);
  CHECK(launch("fa3", MaskClass::kCausal, Mode::kDeterministic, 24 * 1024).sections.heads_per_section == 1);
  // FlashAttention-2: ceil(132 SMs / 16 heads) = 9 CTAs a head.
  const BackwardLaunch split = launch("fa2", MaskClass::kCausal, Mode::kDeterministic);
  CHECK(split.algorithm == "fa2-split");
  CHECK(split.launch_order == "9 CTAs per head; each takes one KV tile in 9");
  CHECK(launch("fa2", MaskClass::kCausal, Mode::kUnordered).algorithm == "unordered");
}

TEST_CASE("this project's kernel takes shifts for full and square causal masks, and a search within the L2 for others") {
  const BackwardKernel& ours = kernel_on("ours", "h200");
  BackwardCall call = call_of(1024, 8, MaskClass::kFull);
  const BackwardLaunch shift = kernel_launch(ours, call, ReductionMode::kDeterministic).value();
  CHECK(shift.algorithm == "shift");
  CHECK(shift.dispatch == Dispatch::kStatic);
  CHECK(shift.walk == TileWalk::kSpread);
  CHECK_FALSE(shift.heads_in_flight);
  CHECK(kernel_launch(ours, call, ReductionMode::kUnordered)->algorithm == "unordered");
  call.mask = MaskClass::kCausal;
  const BackwardLaunch pairs = kernel_launch(ours, call, ReductionMode::kDeterministic).value();
  CHECK(pairs.algorithm == "symmetric-shift");
  CHECK(pairs.dispatch == Dispatch::kStatic);
  CHECK(pairs.walk == TileWalk::kSpread);
  BackwardCall longer = call;
  longer.kv_tokens = 2 * call.q_tokens;
  CHECK(kernel_launch(ours, longer, ReductionMode::kDeterministic)->algorithm == "best");
  BackwardCall grouped = call;
  grouped.heads_kv = call.heads / 2;
  CHECK(kernel_launch(ours, grouped, ReductionMode::kDeterministic)->algorithm == "best");
  call.mask = MaskClass::kWindow;
  call.l2_bytes = std::int64_t{25} << 20;
  BackwardLaunch searched = kernel_launch(ours, call, ReductionMode::kDeterministic).value();
  CHECK(searched.algorithm == "best");
  CHECK(searched.heads_in_flight == 25);  // 132 SMs need ceil(132 / 8 KV tiles) + 2 = 19
  call.l2_bytes = std::int64_t{10} << 20;
  searched = kernel_launch(ours, call, ReductionMode::kDeterministic).value();
  CHECK(searched.heads_in_flight == 19);
}

TEST_CASE("kernels are listed by position, and each says where it was read") {
  std::int32_t before = -1;
  for (const BackwardKernel& kernel : catalog().backward_kernels) {
    CAPTURE(kernel.name, kernel.release);
    CHECK(kernel.position > before);
    before = kernel.position;
    CHECK_FALSE(kernel.title.empty());
    CHECK_FALSE(kernel.source.empty());
    CHECK_FALSE(kernel.architectures.empty());
    // Whatever has a launch has tiles for its masks.
    for (const KernelLaunch& each : kernel.launches) {
      for (const MaskClass mask : each.masks) {
        const bool has = std::any_of(kernel.tiles.begin(), kernel.tiles.end(), [&](const KernelTiles& tiles) {
          return kernel.tiles_of(tiles.head_dims.least, mask) != nullptr;
        });
        CHECK(has);
      }
    }
  }
}

}  // namespace backward_kernels_test
